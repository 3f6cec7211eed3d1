package transport

import (
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// written is memory without a pointer to it. It records the length of each write.
type written struct {
	hidden
	lengths []int
}

func (w *written) WriteAt(b []byte, off uint64) error {
	w.lengths = append(w.lengths, len(b))
	return w.hidden.WriteAt(b, off)
}

// Programs poll for the last bytes of a WRITE, so those are written separately, after all others.
func TestTheLastBytesOfAWriteComeLast(t *testing.T) {
	for typ, prefix := range map[qp.Type]string{qp.RC: "", qp.UC: "UC_"} {
		t.Run(typ.String(), func(t *testing.T) {
			s := newScriptOf(t, typ, nil)
			memory := &written{hidden: hidden{mr.Bytes(make([]byte, 1024))}}
			region, err := s.keys.Register(s.qp.PD, memory, 0x500000, 1024, mr.LocalWrite|mr.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			s.regions["polled"] = region
			s.run(strings.ReplaceAll(`
				< RDMA_WRITE_FIRST psn=100 len=256 va=0x500000 dma=612 rkey=polled
				< RDMA_WRITE_MIDDLE psn=101 len=256
				< RDMA_WRITE_LAST psn=102 len=100
				verdict accepted`, "RDMA", prefix+"RDMA"))
			if want := []int{256, 256, 92, 8}; !slices.Equal(memory.lengths, want) {
				t.Errorf("the writes have %d bytes, not %d", memory.lengths, want)
			}
		})
	}
}
