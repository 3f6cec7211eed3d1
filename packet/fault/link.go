package fault

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorxe/gorxe/packet"
)

// Link is a link that does harm to frames, for tests: see [New].
//
// A frame that is held back, repeated or changed is copied, so Send's borrow ends when it returns as on any link.
// No held frame is lost: it goes when enough frames have followed, when its time is up, or at Flush, whichever is first.
// The time comes from the time package, so that in a testing/synctest bubble it is the bubble's.
// Close drops what is still held.
type Link struct {
	packet.Link // the link below

	mu     sync.Mutex
	tx     fates
	out    *packet.Batch // what goes to the link below
	held   []*held       // by due time, then in the order of arrival
	lent   []*held       // what out borrows from
	free   []*held
	timer  *time.Timer
	closed bool

	rxMu  sync.Mutex
	rx    fates
	spare []packet.Received // scratch of Recv
	late  []lateFrame
}

// lateFrame is a received frame that waits to be overtaken.
type lateFrame struct {
	frame packet.Received
	pass  int
}

var errClosed = fmt.Errorf("packet: fault: %w", net.ErrClosed)

// faultBatch is how many frames a Link hands down at a time.
const faultBatch = 64

// New returns l with faults in what is sent. Frames then leave one by one, never in segment trains, unless nothing is
// ever done to them.
func New(l packet.Link, send Config) *Link { return NewBoth(l, send, Config{}) }

// NewBoth returns l with faults in what is sent and in what is received.
func NewBoth(l packet.Link, send, receive Config) *Link {
	return &Link{Link: l, tx: newFates(send, 0), rx: newFates(receive, 1), out: packet.NewBatch(faultBatch)}
}

// Caps are those of the link below, without GSO if frames are harmed when they are sent.
func (l *Link) Caps() packet.Caps {
	c := l.Link.Caps()
	c.Name = "fault(" + c.Name + ")"
	c.GSO = c.GSO && l.tx.idle()
	return c
}

// Stats returns the counts of the link below.
func (l *Link) Stats() packet.Stats { return packet.StatsOf(l.Link) }

// LoopsBack is false: frames that a device hands over within itself would come to no harm.
func (l *Link) LoopsBack() bool { return false }

// SeesLoops is false.
func (l *Link) SeesLoops() bool { return false }

// SeeLooped does nothing.
func (l *Link) SeeLooped(*packet.Frame) {}

// Counters returns what was done so far to what is sent and what is received.
func (l *Link) Counters() (sent, received Counters) {
	l.mu.Lock()
	sent = l.tx.count
	l.mu.Unlock()
	l.rxMu.Lock()
	received = l.rx.count
	l.rxMu.Unlock()
	return sent, received
}

// Prepare lets every frame leave alone: what it announces for a frame is then true whatever happens to the others.
func (l *Link) Prepare(b *packet.Batch) {
	b.Lone = b.Lone || !l.tx.idle()
	l.Link.Prepare(b)
}

// Send tells of frames that the link below refused as *SendError does, with the index in the order they went down.
func (l *Link) Send(b *packet.Batch) error {
	if l.tx.idle() {
		return l.pass(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	var refused *packet.SendError
	now := time.Now()
	for ; b.Sent < b.Len(); b.Sent++ {
		f := b.At(b.Sent)
		if f.Path == nil {
			refused = refused.Refuse(b, b.Sent, 1, packet.ErrAddressFamily)
			continue
		}
		if err := l.send(f, now, &refused); err != nil {
			return err
		}
	}
	if err := l.down(&refused); err != nil {
		return err
	}
	l.arm(now)
	return refused.Result()
}

// pass sends what nothing is done to.
func (l *Link) pass(b *packet.Batch) error {
	before := b.Sent
	err := l.Link.Send(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tx.count.Frames += uint64(b.Sent - before)
	return err
}

// send deals with one frame.
func (l *Link) send(f *packet.Frame, now time.Time, refused **packet.SendError) error {
	ft := l.tx.next()
	seq := l.tx.count.Frames
	if ft.drop {
		return nil
	}
	copies := 1
	if ft.duplicate {
		copies = 2
	}
	for i := range copies {
		spoil := i == 0 && (ft.corrupt || ft.mark)
		wait := ft.reorder || ft.delay > 0
		if !spoil && !wait {
			if err := l.room(refused); err != nil {
				return err
			}
			l.out.Next().Alias(f)
			continue
		}
		h := l.hold(f)
		h.seq = seq
		if spoil && ft.corrupt {
			flip(h.data, ft.bit)
		}
		if spoil && ft.mark {
			h.path.TrafficClass |= ecnCE
		}
		if !wait {
			if err := l.release(h, refused); err != nil {
				return err
			}
			continue
		}
		h.due = now.Add(ft.delay)
		if ft.reorder {
			h.due, h.pass = h.due.Add(l.tx.cfg.ReorderHold), ft.span
		}
		l.keep(h)
	}
	if ft.reorder || ft.delay > 0 {
		return nil
	}
	return l.passed(seq, refused)
}

// room makes room for one more frame in l.out.
func (l *Link) room(refused **packet.SendError) error {
	if !l.out.Full() {
		return nil
	}
	return l.down(refused)
}

// down sends l.out to the link below. Only a closed link is an error, refused frames add to refused.
func (l *Link) down(refused **packet.SendError) error {
	if l.out.Len() == 0 {
		return nil
	}
	err := l.Link.Send(l.out)
	l.out.Reset()
	l.free = append(l.free, l.lent...)
	l.lent = l.lent[:0]
	if err == nil {
		return nil
	}
	se, ok := errors.AsType[*packet.SendError](err)
	switch {
	case !ok:
		return err
	case *refused == nil:
		*refused = se
	default:
		(*refused).Refused += se.Refused
	}
	return nil
}

// Close closes the link below and drops what is held.
func (l *Link) Close() error {
	// The link below first: that wakes a Send that holds the lock.
	err := l.Link.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.held = nil
	if l.timer != nil {
		l.timer.Stop()
	}
	return err
}
