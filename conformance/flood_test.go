package conformance

import (
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// floodLink receives n packets to a queue pair that the tester does not have.
type floodLink struct {
	n     int
	begin chan struct{} // closed before them
	done  chan struct{} // closed after them
}

func (*floodLink) Local() netip.Addr                             { return netip.MustParseAddr("192.0.2.8") }
func (*floodLink) Raw() bool                                     { return false }
func (*floodLink) MTU() int                                      { return 1500 }
func (*floodLink) Close() error                                  { return nil }
func (*floodLink) Send(netip.Addr, *wire.Packet) ([]byte, error) { return nil, nil }
func (l *floodLink) Recv(deadline time.Time) (*wire.Received, error) {
	select {
	case <-l.begin:
	case <-time.After(time.Until(deadline)):
		return nil, wire.ErrTimeout
	}
	if l.n == 0 {
		select {
		case <-l.done:
		default:
			close(l.done)
		}
		<-time.After(time.Until(deadline))
		return nil, wire.ErrTimeout
	}
	l.n--
	p := bth.Packet{Opcode: bth.RCAck, DestQP: 77}
	return &wire.Received{Packet: p, Bytes: append(p.Append(nil), 0, 0, 0, 0), At: time.Now()}, nil
}

// In a flood, replies may be lost: a missing one is no fault of the device.
func TestAFailureInAFloodIsInconclusive(t *testing.T) {
	for n, want := range map[int]Verdict{maxStrays: Fail, 3 * maxStrays: Inconclusive} {
		l := &floodLink{n: n, begin: make(chan struct{}), done: make(chan struct{})}
		begin := sync.OnceFunc(func() { close(l.begin) })
		c := &Case{ID: "psn/1", Level: Shall, Run: func(t *T) {
			begin()
			<-l.done
			t.Fail("nothing came")
		}}
		r := Runner{Link: l}
		x := r.Run(t.Context(), []*Case{c})[0]
		if x.Verdict != want {
			t.Errorf("%d packets: %v (%s)", n, x.Verdict, x.Detail)
		}
		if len(x.Packets) != maxStrays || len(x.Packets)+x.Dropped != n {
			t.Errorf("%d packets: %d are kept, and %d counted", n, len(x.Packets), x.Dropped)
		}
		if want == Inconclusive && !strings.HasPrefix(x.Detail, "3072 packets came for queue pairs") {
			t.Errorf("%d packets: %s", n, x.Detail)
		}
	}
}

func TestALogLimitsItsBytes(t *testing.T) {
	var l packetLog
	big := make([]byte, maxLogBytes/4)
	for range 6 {
		l.received(&wire.Received{Bytes: big})
	}
	if kept, dropped := l.take(); len(kept) != 4 || dropped != 2 {
		t.Errorf("%d packets are kept, %d counted", len(kept), dropped)
	}
}
