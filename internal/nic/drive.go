package nic

import (
	"slices"
	"sync/atomic"
)

// Who polls a completion queue and finds it empty looks whether packets have come, and deals with
// them on the spot: between a packet and its completion there is no goroutine to wake. The
// receiving goroutines go on waiting beside that, so a device whose program does not poll is served
// all the same.

// otherTurns is how many times in a row the inbox is looked at that had the last completions before it is
// the turn of another one. All of them are served by their goroutines as well.
const otherTurns = 16

// pollable are the inboxes that pollers may receive from.
type pollable struct {
	list atomic.Pointer[[]*inbox] // a changed list is another one; changed with all locks held
}

func (p *pollable) all() []*inbox {
	if list := p.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add lets pollers receive from in, if more than one can. All locks are held.
func (p *pollable) add(in *inbox) {
	if in.shared == nil {
		return
	}
	list := append(slices.Clone(p.all()), in)
	p.list.Store(&list)
}

// remove takes the inboxes of w away. One who has one already finds the link closed. All locks are held.
func (p *pollable) remove(w *wire) {
	list := slices.DeleteFunc(slices.Clone(p.all()), func(in *inbox) bool { return in.wire == w })
	p.list.Store(&list)
}

// poller chooses where those look who poll one CQ.
type poller struct {
	hot   atomic.Pointer[inbox] // had the last completions that were found so, or else packets; nil for none
	turns atomic.Uint32
}

// next returns the inbox to look at, nil if there is none.
func (p *poller) next(list []*inbox) *inbox {
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

// drive deals with a batch that has come and that nobody deals with yet, and returns where it came, nil if there
// was none. It never waits for packets. No lock is held.
func (d *Device) drive(p *poller) *inbox {
	in := p.next(d.pollable.all())
	if in == nil {
		return nil
	}
	if !in.mu.TryLock() {
		in.spinner.asked.Add(1)
		return nil
	}
	defer in.mu.Unlock()
	if err := in.shared.TryRecv(in.rb); err != nil {
		// It meets the receiving goroutine as well.
		p.hot.CompareAndSwap(in, nil)
		return nil
	}
	if len(in.rb.Frames) == 0 {
		return nil
	}
	p.hot.CompareAndSwap(nil, in)
	in.deliver()
	return in
}
