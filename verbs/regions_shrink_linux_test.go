package verbs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/verbs"
)

// The file ends in the middle of a page, so that some bytes are lost without a fault.
const cutTo = exportSize/2 + 100

// Each operation on lost bytes of a truncated file fails with one status, in one queue pair;
// everything else on the device continues.
func TestFileThatShrinksIsARefusal(t *testing.T) {
	for _, c := range []struct {
		op      verbs.WROpcode
		off     uint64
		n       int
		reached int // bytes of a WRITE that arrive
	}{
		{verbs.WRWrite, 0, exportSize, exportSize / 2},
		{verbs.WRWrite, cutTo, 8, 0},
		{verbs.WRWrite, cutTo - 4, 8, 0},
		{verbs.WRWrite, exportSize - 8, 8, 0},
		{verbs.WRRead, 0, exportSize, 0},
		{verbs.WRRead, cutTo, 1, 0},
		{verbs.WRFetchAdd, cutTo + 4, 8, 0},
		{verbs.WRCmpSwap, exportSize - 8, 8, 0},
		{verbs.WRAtomicWrite, cutTo + 4, 8, 0},
		{verbs.WRFlush, cutTo, 8, 0},
	} {
		t.Run(fmt.Sprintf("%v of %d at %d", c.op, c.n, c.off), func(t *testing.T) {
			x := exportFile(t)
			other, info := x.b.NewQP()
			mine, myInfo := x.a.NewQP()
			x.connect(mine, other, myInfo, info)
			copy(x.a.Buf, bytes.Repeat([]byte{0x5a}, exportSize))
			if err := os.Truncate(x.path, cutTo); err != nil {
				t.Fatal(err)
			}
			if got := x.do(x.a, x.request(c.op, c.off, c.n)); got != verbs.WCRemOpErr {
				t.Errorf("it ended with %v, want %v", got, verbs.WCRemOpErr)
			}
			if err := x.mem.Err(); !errors.Is(err, hostmem.ErrLost) {
				t.Errorf("the memory says %v", err)
			}
			if got := bytes.Count(x.local[:exportSize/2], []byte{0x5a}); got != c.reached {
				t.Errorf("%d bytes arrived in what is left, want %d", got, c.reached)
			}

			x.a.QP = mine
			x.a.Fence()
			copy(x.a.Buf, bytes.Repeat([]byte{0x5a}, exportSize)) // a READ has changed it
			x.must(x.request(verbs.WRWrite, cutTo-8, 8))
			if got := string(x.local[cutTo-8 : cutTo]); got != "ZZZZZZZZ" {
				t.Errorf("the rest of the file has %q", got)
			}
			x.must(x.a.OneSided(verbs.WRWrite, x.b, exportSize))
			x.b.Fence()
			if !bytes.Equal(x.b.Buf, x.a.Buf) {
				t.Error("another region was hurt")
			}
		})
	}
}

func TestFileShrinksUnderTraffic(t *testing.T) {
	for _, op := range []verbs.WROpcode{verbs.WRWrite, verbs.WRRead} {
		t.Run(op.String(), func(t *testing.T) {
			x := exportFile(t)
			wr := x.request(op, 0, exportSize)
			wr.Flags |= verbs.Signaled
			for range 4 {
				if err := x.a.QP.PostSend(wr); err != nil {
					t.Fatal(err)
				}
			}
			if got := x.status(x.a); got != verbs.WCSuccess {
				t.Fatalf("the first, before anything happened: %v", got)
			}
			if err := os.Truncate(x.path, 4096); err != nil {
				t.Fatal(err)
			}
			// Completions of earlier requests may still be in flight.
			if err := x.a.QP.PostSend(wr); err != nil {
				t.Fatal(err)
			}
			got := x.status(x.a)
			for got == verbs.WCSuccess {
				got = x.status(x.a)
			}
			if got != verbs.WCRemOpErr {
				t.Errorf("it ended with %v, want %v", got, verbs.WCRemOpErr)
			}
		})
	}
}

func TestLocalUseOfWhatAFileHasLost(t *testing.T) {
	for name, request := range map[string]func(x *export) *verbs.SendWR{
		"the source of a WRITE": func(x *export) *verbs.SendWR {
			wr := x.b.OneSided(verbs.WRWrite, x.a, 0)
			wr.SGList = []verbs.SGE{x.region.SGE(0, exportSize)}
			return wr
		},
		"the sink of a READ": func(x *export) *verbs.SendWR {
			wr := x.b.OneSided(verbs.WRRead, x.a, 0)
			wr.SGList = []verbs.SGE{x.region.SGE(0, exportSize)}
			return wr
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := exportFile(t)
			if got := x.do(x.b, request(x)); got != verbs.WCSuccess {
				t.Fatalf("while all is there: %v", got)
			}
			if err := os.Truncate(x.path, cutTo); err != nil {
				t.Fatal(err)
			}
			if got := x.do(x.b, request(x)); got != verbs.WCLocProtErr {
				t.Errorf("it ended with %v, want %v", got, verbs.WCLocProtErr)
			}
		})
	}
	t.Run("the buffer of a receive", func(t *testing.T) {
		x := exportFile(t)
		if err := errors.Join(
			os.Truncate(x.path, 0),
			x.b.QP.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{x.region.SGE(0, 4096)}}),
		); err != nil {
			t.Fatal(err)
		}
		send := &verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{x.a.MR.SGE(0, 100)}}
		if got := x.do(x.a, send); got != verbs.WCRemOpErr {
			t.Errorf("the SEND ended with %v, want %v", got, verbs.WCRemOpErr)
		}
		if got := x.status(x.b); got != verbs.WCLocProtErr {
			t.Errorf("the receive ended with %v, want %v", got, verbs.WCLocProtErr)
		}
	})
}
