package engine

import (
	"slices"
	"sync/atomic"
)

// Who polls a completion queue and finds it empty looks whether packets have come, and deals with
// them on the spot: between a packet and its completion there is no goroutine to wake. The
// receiving goroutines go on waiting beside that, so a device whose program does not poll is served
// all the same.

// otherTurns is how many times in a row the inbox that had the last packets is looked at before it is
// the turn of another one. All of them are served by their goroutines as well.
const otherTurns = 16

// pollable are the inboxes that pollers may receive from.
type pollable struct {
	list  atomic.Pointer[[]*inbox] // a changed list is another one; changed with the shard's lock held
	hot   atomic.Pointer[inbox]    // had the last packets that a poller found, nil for none
	turns atomic.Uint32
}

func (p *pollable) all() []*inbox {
	if list := p.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add lets pollers receive from in, if more than one can. The shard's lock is held.
func (p *pollable) add(in *inbox) {
	if in.shared == nil {
		return
	}
	list := append(slices.Clone(p.all()), in)
	p.list.Store(&list)
}

// remove takes the inbox of w away. One who has it already finds the link closed. The shard's lock is held.
func (p *pollable) remove(w *wire) {
	list := slices.DeleteFunc(slices.Clone(p.all()), func(in *inbox) bool { return in.wire == w })
	p.list.Store(&list)
	p.hot.Store(nil)
}

// next returns the inbox to look at, nil if there is none.
func (p *pollable) next() *inbox {
	list := p.all()
	if len(list) == 0 {
		return nil
	}
	n, hot := p.turns.Add(1), p.hot.Load()
	switch {
	case hot == nil:
		return list[int(n)%len(list)]
	case n%otherTurns != 0:
		return hot
	}
	return list[int(n/otherTurns)%len(list)]
}

// drive deals with a batch that has come and that nobody deals with yet, and reports whether there
// was one. It never waits for packets. No lock is held.
func (d *Device) drive() bool {
	in := d.pollable.next()
	if in == nil {
		return false
	}
	if !in.mu.TryLock() {
		in.spinner.asked.Add(1)
		return false
	}
	defer in.mu.Unlock()
	if err := in.shared.TryRecv(in.rb); err != nil {
		// It meets the receiving goroutine as well.
		d.pollable.hot.CompareAndSwap(in, nil)
		return false
	}
	if len(in.rb.Frames) == 0 {
		return false
	}
	d.pollable.hot.Store(in)
	in.deliver()
	return true
}
