package fault

import (
	"errors"
	"net"
	"slices"
	"time"

	"github.com/gorxe/gorxe/packet"
)

// held is a copy of a delayed frame.
type held struct {
	path               packet.Path
	data               []byte
	srcPort, id, flags uint16
	seq                uint64 // number of the frame
	due                time.Time
	pass               int // later frames that must still overtake this frame; 0: only due matters
}

// overtaken updates the delayed frames after frame seq was sent: it releases those that enough
// later frames have overtaken.
func (l *Link) overtaken(seq uint64, refused **packet.SendError) error {
	for i := 0; i < len(l.held); {
		h := l.held[i]
		if h.pass == 0 || h.seq >= seq {
			i++
			continue
		}
		if h.pass--; h.pass > 0 {
			i++
			continue
		}
		l.held = slices.Delete(l.held, i, i+1)
		if err := l.release(h, refused); err != nil {
			return err
		}
	}
	return nil
}

// hold returns a copy of f, without seq, due and pass.
func (l *Link) hold(f *packet.Frame) *held {
	if len(l.free) == 0 {
		l.free = append(l.free, new(held))
	}
	last := len(l.free) - 1
	h := l.free[last]
	l.free = l.free[:last]
	*h = held{path: *f.Path, data: f.AppendTo(h.data[:0]), srcPort: f.SrcPort, id: f.ID, flags: f.FlagsFragment}
	return h
}

// insertHeld inserts h into l.held, after the frames with an equal or earlier due time.
func (l *Link) insertHeld(h *held) {
	i := len(l.held)
	for i > 0 && l.held[i-1].due.After(h.due) {
		i--
	}
	l.held = slices.Insert(l.held, i, h)
}

// release appends h to l.out.
func (l *Link) release(h *held, refused **packet.SendError) error {
	if err := l.room(refused); err != nil {
		return err
	}
	f := l.out.AppendFrame()
	f.Path, f.SrcPort, f.ID, f.FlagsFragment = &h.path, h.srcPort, h.id, h.flags
	f.Payload = append(f.Payload, h.data)
	l.borrowed = append(l.borrowed, h)
	return nil
}

// Flush sends all delayed frames now, in the order of their due times.
func (l *Link) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sendDue(nil)
}

// sendDue sends the delayed frames that are due at *now, or all if now is nil.
func (l *Link) sendDue(now *time.Time) error {
	if l.closed {
		return errClosed
	}
	var refused *packet.SendError
	for len(l.held) > 0 && (now == nil || !l.held[0].due.After(*now)) {
		h := l.held[0]
		l.held = slices.Delete(l.held, 0, 1)
		if err := l.release(h, &refused); err != nil {
			return err
		}
		if err := l.overtaken(h.seq, &refused); err != nil {
			return err
		}
	}
	if err := l.flushOut(&refused); err != nil {
		return err
	}
	if refused != nil {
		l.tx.count.Failed += uint64(refused.Refused)
	}
	return refused.ErrorOrNil()
}

// arm sets the timer to the earliest due time.
func (l *Link) arm(now time.Time) {
	if len(l.held) == 0 {
		return
	}
	wait := l.held[0].due.Sub(now)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.tick)
	} else {
		l.timer.Reset(wait)
	}
}

func (l *Link) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if err := l.sendDue(&now); errors.Is(err, net.ErrClosed) {
		return
	}
	l.arm(now)
}
