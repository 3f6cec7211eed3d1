package linktest

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// queues tests a link that is split into several queues: each receives its own frames, complete and
// in order. A link that cannot be split must continue as before.
func (s *suite) queues(t *testing.T, a, b *end) {
	const several, frames = 3, 60
	var all []packet.Queue
	var err error
	s.at(t, b.link, func() { all, err = packet.Split(b.link, several) })
	if err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("Split: %v, want queues or errors.ErrUnsupported", err)
		}
		a.put(&a.to, 100, 1)
		a.mustFlush()
		b.expect()
		return
	}
	if len(all) != several {
		t.Fatalf("%d queues, want %d", len(all), several)
	}
	// The length field of a suite frame is where the queue pair number of a packet is. Each
	// frame is longer than the one before, which prevents trains.
	for size := range frames {
		a.put(&a.to, size, 1)
	}
	a.mustFlush()
	for i, q := range all {
		for want := i; want < frames; {
			until(t, "what was sent does not come by its queue", func() bool {
				if err := q.TryRecv(b.in); err != nil {
					t.Fatalf("TryRecv of queue %d: %v", i, err)
				}
				return len(b.in.Frames) > 0
			})
			for k := range b.in.Frames {
				if err := check(&b.in.Frames[k], uint32(want)); err != nil {
					t.Fatalf("queue %d: %v", i, err)
				}
				want += several
			}
		}
	}
}
