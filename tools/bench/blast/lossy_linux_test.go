package blast

import (
	"bytes"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"golang.org/x/sys/unix"
)

// A NAK is answered once, and while its gap is repaired the window is twice as large.
func TestAGapIsRepairedOnce(t *testing.T) {
	type step struct {
		psn      bth.PSN
		nak      bool
		due      bool // before the repair
		doubled  bool
		repaired bth.PSN // after it
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"no gap", []step{{psn: 10, repaired: 10}, {psn: 20, repaired: 20}}},
		{"one gap", []step{{10, true, true, true, 11}, {10, true, false, true, 11}, {20, false, false, false, 20}}},
		{"gaps of neighbours", []step{{10, true, true, true, 11}, {11, true, true, true, 12},
			{12, false, false, false, 12}}},
		{"an old acknowledgement", []step{{10, true, true, true, 11}, {9, false, false, true, 11}}},
		{"an old NAK", []step{{10, false, false, false, 10}, {9, true, false, false, 10}}},
		{"packets that were never sent", []step{{101, true, false, false, 0}}},
	} {
		s := newLossySender(Config{Segment: 4112, ICRC: true, Lose: 0.01})
		s.next = 100
		for i, p := range tt.steps {
			s.acknowledge(p.psn, p.nak)
			if s.due() != p.due || (s.limit() == 2*s.c.window()) != p.doubled {
				t.Errorf("%s, step %d: due %v, %d packets; want %+v", tt.name, i, s.due(), s.limit(), p)
			}
			if s.due() {
				s.repaired = s.settled.Add(1)
			}
			if s.repaired != p.repaired {
				t.Errorf("%s, step %d: repaired before %d, want %d", tt.name, i, s.repaired, p.repaired)
			}
		}
	}
}

// All packets arrive, whatever both ends lose, and each counts once.
func TestLostPacketsArriveInTheEnd(t *testing.T) {
	for _, c := range []Config{
		{Segment: 4112, ICRC: true, Lose: 0.05},
		{Segment: 1040, ICRC: true, Lose: 0.005},
		{Segment: 16016, ICRC: true, Lose: 0.3}, // few packets in a window: probes are needed
	} {
		r, err := listen(netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		fd, err := c.dial(netip.MustParseAddr("127.0.0.1"), uint16(r.port))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		var over atomic.Bool
		sent := make(chan error, 1)
		go func() { sent <- sendLossy(fd, c, over.Load) }()
		if err := r.answerFirst(); err != nil {
			t.Fatal(err)
		}
		k := newChecker(c)
		p, err := k.processor(r.fd)
		if err != nil {
			t.Fatal(err)
		}
		for k.repaired < 20 || k.next < 1000 {
			n, err := k.receive(r.fd)
			if err != nil {
				t.Fatal(err)
			}
			p.take(n)
			if err := p.answer(r.fd); err != nil {
				t.Fatal(err)
			}
		}
		over.Store(true)
		if err := <-sent; err != nil {
			t.Error(err)
		}
		early := uint64(p.(*lossyReceiver).early)
		if k.good != uint64(k.next)+early || k.wrong != 0 || k.repaired == 0 {
			t.Errorf("%+v: %+v before PSN %d, %d after it", c, k.counts, k.next, early)
		}
		if !bytes.Equal(k.region, c.region()) {
			t.Errorf("%+v: the payload is another one", c)
		}
	}
}

// Trains with losses are taken, a NAK is made and taken, without an allocation.
func TestRepairsDoNotAllocate(t *testing.T) {
	c := Config{Segment: 4112, ICRC: true, Lose: 0.1}
	k, s := newLossyReceiver(newChecker(c)), newLossySender(c)
	fd, err := c.dial(netip.MustParseAddr("127.0.0.1"), 9)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if n := testing.AllocsPerRun(100, func() {
		s.fill()
		for i := range s.c.train() {
			b := k.room[i*c.Segment:][:c.Segment]
			copy(b, s.edges[i*edge:][:bth.BTHLen])
			copy(b[bth.BTHLen:], c.place(s.region, s.next.Add(uint32(i))))
			copy(b[c.Segment-bth.ICRCLen:], s.edges[i*edge+bth.BTHLen:])
		}
		s.next = s.next.Add(uint32(s.c.train()))
		k.msgs[0].len = uint32(s.c.train() * c.Segment)
		k.take(1)
		err = errors.Join(err, k.answer(fd), s.poll(fd))
		s.acknowledge(k.next, k.early > 0)
		for s.due() { // nothing listens: the test delivers the packet
			err = errors.Join(err, s.send(fd, true, false))
			b := append(k.room[:0], s.edge[:bth.BTHLen]...)
			b = append(b, c.place(s.region, s.settled)...)
			k.packet(append(b, s.edge[bth.BTHLen:]...))
			k.next = k.expected
			s.acknowledge(k.next, k.early > 0)
		}
	}); n != 0 || err != nil {
		t.Errorf("%v allocations for each batch, %v", n, err)
	}
	if k.repaired == 0 || k.wrong != 0 {
		t.Errorf("%+v", k.counts)
	}
}
