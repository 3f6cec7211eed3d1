package conformance

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

const datagram = 60000 // bytes of the packets of a device that wants memory

func TestALogIsLimitedInPacketsAndBytes(t *testing.T) {
	for _, n := range []int{0, datagram} {
		l, sent, bytes := &packetLog{}, maxEntries+10, 0
		r := &wire.Received{Bytes: make([]byte, n)}
		for range sent {
			l.received(r)
		}
		entries, dropped := l.take()
		for _, e := range entries {
			bytes += len(e.Bytes)
		}
		if len(entries)+dropped != sent || dropped < 10 || bytes > maxLogBytes {
			t.Errorf("packets of %d bytes: %d are kept with %d bytes, %d dropped", n, len(entries), bytes, dropped)
		}
	}
}

func TestNotesWithoutAPacketAreLimited(t *testing.T) {
	l := &packetLog{}
	for range 2 * maxLogNotes {
		l.note("x")
	}
	if len(l.notes) != maxLogNotes {
		t.Errorf("%d notes wait", len(l.notes))
	}
}

func TestTheQueueOfAConnectionIsLimitedInBytes(t *testing.T) {
	c := newConn(nil, Pingpong, Local{})
	r := &wire.Received{Bytes: make([]byte, datagram)}
	for range maxQueue {
		c.deliver(r)
	}
	if n := len(c.in); !c.flooded.Load() || n*datagram > maxQueueBytes || n == 0 {
		t.Errorf("%d packets of %d bytes wait; flood: %v", n, datagram, c.flooded.Load())
	}
	for len(c.in) > 0 {
		<-c.in
		c.waiting.Add(-datagram)
	}
	if n := c.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait in an empty queue", n)
	}
}

// A device must not choose how much memory the answer to its READ takes.
func TestResponsesAreForTheReadThatIsExpected(t *testing.T) {
	for _, p := range []bth.Packet{
		{Opcode: bth.RCReadRequest, RETH: bth.RETH{DMALen: 1<<32 - 1}},
		{Opcode: bth.RCReadRequest, RETH: bth.RETH{DMALen: 63}},
		{Opcode: bth.RCReadRequest},
		{Opcode: bth.RCSendOnly},
	} {
		x := &T{c: &Case{Run: func(t *T) {
			newConn(t, ReadClient, Local{}).Responses(&wire.Received{Packet: p}, make([]byte, 64))
		}}}
		if v, detail := script(x); v != Fail {
			t.Errorf("%v with DMA length %d: %v: %s", p.Opcode, p.RETH.DMALen, v, detail)
		}
	}
}
