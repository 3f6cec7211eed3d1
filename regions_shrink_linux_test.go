package gorxe_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/internal/hostmem"
)

// The file ends in the middle of a page, so that some bytes are lost without a fault.
const cutTo = exportSize/2 + 100

// Each operation that needs what a file has lost ends in one status, in the one queue pair; all
// else on the device goes on.
func TestFileThatShrinksIsARefusal(t *testing.T) {
	for _, c := range []struct {
		op      gorxe.WROpcode
		off     uint64
		n       int
		reached int // bytes of a WRITE that arrive
	}{
		{gorxe.WRWrite, 0, exportSize, exportSize / 2},
		{gorxe.WRWrite, cutTo, 8, 0},
		{gorxe.WRWrite, cutTo - 4, 8, 0},
		{gorxe.WRWrite, exportSize - 8, 8, 0},
		{gorxe.WRRead, 0, exportSize, 0},
		{gorxe.WRRead, cutTo, 1, 0},
		{gorxe.WRFetchAdd, cutTo + 4, 8, 0},
		{gorxe.WRCmpSwap, exportSize - 8, 8, 0},
		{gorxe.WRAtomicWrite, cutTo + 4, 8, 0},
		{gorxe.WRFlush, cutTo, 8, 0},
	} {
		t.Run(fmt.Sprintf("%v of %d at %d", c.op, c.n, c.off), func(t *testing.T) {
			x := exportFile(t)
			other, info := x.b.newQP()
			mine, myInfo := x.a.newQP()
			x.connect(mine, other, myInfo, info)
			copy(x.a.buf, bytes.Repeat([]byte{0x5a}, exportSize))
			if err := os.Truncate(x.path, cutTo); err != nil {
				t.Fatal(err)
			}
			if got := x.do(x.a, x.request(c.op, c.off, c.n)); got != gorxe.WCRemOpErr {
				t.Errorf("it ended with %v, want %v", got, gorxe.WCRemOpErr)
			}
			if err := x.mem.Err(); !errors.Is(err, hostmem.ErrLost) {
				t.Errorf("the memory says %v", err)
			}
			if got := bytes.Count(x.local[:exportSize/2], []byte{0x5a}); got != c.reached {
				t.Errorf("%d bytes arrived in what is left, want %d", got, c.reached)
			}

			x.a.qp = mine
			x.a.fence()
			copy(x.a.buf, bytes.Repeat([]byte{0x5a}, exportSize)) // a READ has changed it
			x.must(x.request(gorxe.WRWrite, cutTo-8, 8))
			if got := string(x.local[cutTo-8 : cutTo]); got != "ZZZZZZZZ" {
				t.Errorf("the rest of the file has %q", got)
			}
			x.must(x.a.oneSided(gorxe.WRWrite, x.b, exportSize))
			x.b.fence()
			if !bytes.Equal(x.b.buf, x.a.buf) {
				t.Error("another region was hurt")
			}
		})
	}
}

func TestFileShrinksUnderTraffic(t *testing.T) {
	for _, op := range []gorxe.WROpcode{gorxe.WRWrite, gorxe.WRRead} {
		t.Run(op.String(), func(t *testing.T) {
			x := exportFile(t)
			wr := x.request(op, 0, exportSize)
			wr.Flags |= gorxe.Signaled
			for range 4 {
				if err := x.a.qp.PostSend(wr); err != nil {
					t.Fatal(err)
				}
			}
			if got := x.status(x.a); got != gorxe.WCSuccess {
				t.Fatalf("the first, before anything happened: %v", got)
			}
			if err := os.Truncate(x.path, 4096); err != nil {
				t.Fatal(err)
			}
			// Those that were complete by then may still be on their way to us.
			if err := x.a.qp.PostSend(wr); err != nil {
				t.Fatal(err)
			}
			got := x.status(x.a)
			for got == gorxe.WCSuccess {
				got = x.status(x.a)
			}
			if got != gorxe.WCRemOpErr {
				t.Errorf("it ended with %v, want %v", got, gorxe.WCRemOpErr)
			}
		})
	}
}

func TestLocalUseOfWhatAFileHasLost(t *testing.T) {
	for name, request := range map[string]func(x *export) *gorxe.SendWR{
		"the source of a WRITE": func(x *export) *gorxe.SendWR {
			wr := x.b.oneSided(gorxe.WRWrite, x.a, 0)
			wr.SGList = []gorxe.SGE{x.region.SGE(0, exportSize)}
			return wr
		},
		"the sink of a READ": func(x *export) *gorxe.SendWR {
			wr := x.b.oneSided(gorxe.WRRead, x.a, 0)
			wr.SGList = []gorxe.SGE{x.region.SGE(0, exportSize)}
			return wr
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := exportFile(t)
			if got := x.do(x.b, request(x)); got != gorxe.WCSuccess {
				t.Fatalf("while all is there: %v", got)
			}
			if err := os.Truncate(x.path, cutTo); err != nil {
				t.Fatal(err)
			}
			if got := x.do(x.b, request(x)); got != gorxe.WCLocProtErr {
				t.Errorf("it ended with %v, want %v", got, gorxe.WCLocProtErr)
			}
		})
	}
	t.Run("the buffer of a receive", func(t *testing.T) {
		x := exportFile(t)
		if err := errors.Join(
			os.Truncate(x.path, 0),
			x.b.qp.PostRecv(&gorxe.RecvWR{SGList: []gorxe.SGE{x.region.SGE(0, 4096)}}),
		); err != nil {
			t.Fatal(err)
		}
		send := &gorxe.SendWR{Opcode: gorxe.WRSend, SGList: []gorxe.SGE{x.a.mr.SGE(0, 100)}}
		if got := x.do(x.a, send); got != gorxe.WCRemOpErr {
			t.Errorf("the SEND ended with %v, want %v", got, gorxe.WCRemOpErr)
		}
		if got := x.status(x.b); got != gorxe.WCLocProtErr {
			t.Errorf("the receive ended with %v, want %v", got, gorxe.WCLocProtErr)
		}
	})
}
