package transport

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// halfGone is memory by offset of which only the first half is accessible, like a file that has
// become shorter. It records flushes.
type halfGone struct {
	b       [1024]byte
	flushed []string
}

var errHalfGone = errors.New("out of reach")

func (m *halfGone) Size() uint64 { return uint64(len(m.b)) }

func (m *halfGone) check(off, n uint64) error {
	if off+n > m.Size()/2 {
		return errHalfGone
	}
	return nil
}

func (m *halfGone) ReadAt(p []byte, off uint64) error {
	copy(p, m.b[off:])
	return m.check(off, uint64(len(p)))
}

func (m *halfGone) WriteAt(p []byte, off uint64) error {
	copy(m.b[off:], p)
	return m.check(off, uint64(len(p)))
}

func (m *halfGone) Flush(off, n uint64, persist bool) error {
	m.flushed = append(m.flushed, fmt.Sprint(off, n, persist))
	return m.check(off, n)
}

// halfGoneAt500000 gives a script the region "half".
func halfGoneAt500000(t *testing.T, s *script) *halfGone {
	t.Helper()
	const all = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic | mr.FlushGlobal | mr.FlushPersistent
	m := &halfGone{}
	r, err := s.keys.Register(s.qp.PD, m, 0x500000, m.Size(), all)
	if err != nil {
		t.Fatal(err)
	}
	s.regions["half"] = r
	return m
}

// Key, rights and bounds are right, and the memory fails: that is not a fault of the request.
func TestMemoryThatFailsIsARemoteOperationalError(t *testing.T) {
	refused := func(psn, msn int) string {
		return fmt.Sprintf(`
			verdict operational_error
			event QP_FATAL
			> ACKNOWLEDGE psn=%d syn=op msn=%d
			counts sent_error_naks=1
			state ERR`, psn, msn)
	}
	for _, c := range []scenario{
		{"a WRITE", nil, `
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x500200 dma=4 rkey=half ack` + refused(100, 0)},
		{"the LAST packet of a WRITE", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x500000 dma=513 rkey=half
			< RDMA_WRITE_MIDDLE psn=101 len=256
			verdict accepted
			< RDMA_WRITE_LAST psn=102 len=1 ack` + refused(102, 0)},
		{"a fetch and add", nil, `
			< FETCH_ADD psn=100 va=0x500200 add=1 rkey=half ack` + refused(100, 0)},
		{"a compare and swap", nil, `
			< COMPARE_SWAP psn=100 va=0x500200 cmp=0 swap=1 rkey=half ack` + refused(100, 0)},
		{"an ATOMIC WRITE", nil, `
			< ATOMIC_WRITE psn=100 va=0x500200 dma=8 len=8 rkey=half ack` + refused(100, 0)},
		{"a FLUSH", flushable, `
			< FLUSH psn=100 va=0x500200 dma=8 rkey=half type=2 ack` + refused(100, 0)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newScript(t, c.adjust)
			halfGoneAt500000(t, s)
			s.run(c.script)
		})
	}
}

func TestReadGoesAsFarAsTheMemory(t *testing.T) {
	s := newScript(t, nil)
	halfGoneAt500000(t, s)
	s.run(`
		< RDMA_READ_REQUEST psn=100 va=0x500000 dma=768 rkey=half ack
		event QP_FATAL
		> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
		> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
		> ACKNOWLEDGE psn=102 syn=op msn=1
		state ERR`)
}

func TestUnreliableWriteToMemoryThatFailsIsDropped(t *testing.T) {
	s := newScriptOf(t, qp.UC, nil)
	halfGoneAt500000(t, s)
	s.run(`
		< UC_RDMA_WRITE_FIRST psn=100 len=256 va=0x500100 dma=300 rkey=half
		verdict accepted
		< UC_RDMA_WRITE_LAST psn=101 len=44
		verdict operational_error
		< UC_RDMA_WRITE_ONLY psn=102 len=4 va=0x500000 dma=4 rkey=half
		verdict accepted
		state RTS`)
}

func TestOnlyAPersistentFlushAsksForPersistence(t *testing.T) {
	s := newScript(t, flushable)
	m := halfGoneAt500000(t, s)
	s.run(`
		< FLUSH psn=100 va=0x500008 dma=16 rkey=half type=1 ack
		> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
		< FLUSH psn=101 va=0x500010 dma=16 rkey=half type=2 ack
		> RDMA_READ_RESPONSE_ONLY psn=101 len=0 syn=ack msn=2
		< FLUSH psn=102 va=0x500018 dma=16 rkey=half type=3 ack
		> RDMA_READ_RESPONSE_ONLY psn=102 len=0 syn=ack msn=3`)
	if want := "[8 16 false 16 16 true 24 16 true]"; fmt.Sprint(m.flushed) != want {
		t.Errorf("flushed %v, want %s", m.flushed, want)
	}
}
