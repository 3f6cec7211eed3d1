package fault

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorxe/gorxe/packet"
)

// Link is a link that injects faults, for tests: see [New].
//
// A delayed, duplicated or changed frame is copied, so that Send borrows memory only until it
// returns, as on any link. A delayed frame is never lost: it is sent after enough later frames,
// after its delay, or by Flush, whichever is first. The clock is package time, so a Link works in a
// testing/synctest bubble. Close drops the frames that are still delayed.
type Link struct {
	packet.Link // wrapped link

	mu       sync.Mutex
	tx       faultSource
	out      *packet.Batch // batch for the wrapped link
	held     []*held       // delayed frames, by due time, then in order of arrival
	borrowed []*held       // delayed frames whose memory out borrows
	free     []*held
	timer    *time.Timer
	closed   bool

	rxMu  sync.Mutex
	rx    faultSource
	spare []packet.Received // buffer of Recv
	late  []reorderedFrame
}

// reorderedFrame is a received frame that later frames still have to overtake.
type reorderedFrame struct {
	frame packet.Received
	pass  int
}

var errClosed = fmt.Errorf("packet: fault: %w", net.ErrClosed)

// faultBatch is the capacity of a batch for the wrapped link in frames.
const faultBatch = 64

// New returns l with faults in outgoing frames. Frames are then sent as separate datagrams,
// never in segment trains, unless send configures no fault.
func New(l packet.Link, send Config) *Link { return NewBoth(l, send, Config{}) }

// NewBoth returns l with faults in outgoing and in incoming frames.
func NewBoth(l packet.Link, send, receive Config) *Link {
	receive.Delay, receive.Jitter = 0, 0 // incoming frames are not delayed
	return &Link{Link: l, tx: newFaultSource(send, 0), rx: newFaultSource(receive, 1), out: packet.NewBatch(faultBatch)}
}

// Caps returns the capabilities of the wrapped link, without GSO if faults are configured for
// outgoing frames.
func (l *Link) Caps() packet.Caps {
	c := l.Link.Caps()
	c.Name = "fault(" + c.Name + ")"
	c.GSO = c.GSO && l.tx.idle()
	return c
}

// Stats returns the counts of the wrapped link.
func (l *Link) Stats() packet.Stats { return packet.StatsOf(l.Link) }

// LoopsBack returns false: frames that a device delivers internally would bypass the faults.
func (l *Link) LoopsBack() bool { return false }

// SeesLoops returns false.
func (l *Link) SeesLoops() bool { return false }

// SeeLooped does nothing.
func (l *Link) SeeLooped(*packet.Frame) {}

// Counters returns the counts of outgoing and incoming frames.
func (l *Link) Counters() (sent, received Counters) {
	l.mu.Lock()
	sent = l.tx.count
	l.mu.Unlock()
	l.rxMu.Lock()
	received = l.rx.count
	l.rxMu.Unlock()
	return sent, received
}

// Prepare prepares every frame as a separate datagram if faults are configured for outgoing frames,
// so that its header fields stay correct whatever happens to the other frames.
func (l *Link) Prepare(b *packet.Batch) {
	b.NoTrains = b.NoTrains || !l.tx.idle()
	l.Link.Prepare(b)
}

// Send returns a *SendError for frames that the wrapped link rejected. If faults are configured,
// Frame of the SendError is an index in the batch that Send passed to the wrapped link, not in b.
func (l *Link) Send(b *packet.Batch) error {
	if l.tx.idle() {
		return l.sendUnchanged(b)
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
	if err := l.flushOut(&refused); err != nil {
		return err
	}
	l.arm(now)
	return refused.ErrorOrNil()
}

// sendUnchanged sends and counts frames if no faults are configured.
func (l *Link) sendUnchanged(b *packet.Batch) error {
	before := b.Sent
	err := l.Link.Send(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tx.count.Frames += uint64(b.Sent - before)
	return err
}

// send applies the faults to one frame and sends or delays it.
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
			l.out.AppendFrame().Alias(f)
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
		l.insertHeld(h)
	}
	if ft.reorder || ft.delay > 0 {
		return nil
	}
	return l.overtaken(seq, refused)
}

// room sends l.out if it is full.
func (l *Link) room(refused **packet.SendError) error {
	if !l.out.Full() {
		return nil
	}
	return l.flushOut(refused)
}

// flushOut sends l.out through the wrapped link. It returns an error only if the link is closed;
// rejected frames are added to refused.
func (l *Link) flushOut(refused **packet.SendError) error {
	if l.out.Len() == 0 {
		return nil
	}
	err := l.Link.Send(l.out)
	l.out.Reset()
	l.free = append(l.free, l.borrowed...)
	l.borrowed = l.borrowed[:0]
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

// Close closes the wrapped link and drops delayed frames.
func (l *Link) Close() error {
	// Close the wrapped link first: this wakes a Send that holds l.mu.
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
