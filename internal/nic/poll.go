package nic

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/transport"
)

// CQ.Poll on an empty queue also receives: it takes one batch from a link and runs the machines in the caller's
// goroutine, so no wake-up lies between a packet and its completion. The receiving goroutines keep waiting beside
// that, so a device is served as well while its program does not poll.

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

// remove takes the inboxes of w away. A poller that holds one finds its link closed. All locks are held.
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
	in.shard.sendHeldACKs() // the program polls again, and has not answered
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
	in.polled = true
	in.deliver()
	in.polled = false
	return in
}

// To sleep and be woken costs both ends: the host has to switch, and on many hosts, virtual ones above all, the sender pays for
// waking another processor. So who has received a batch looks for the next one for a while before it sleeps. It gives way
// to other goroutines between looks.
//
// That is worth it only where the next batch mostly comes in that time. Each look in vain is followed by batches without one,
// twice as many as after the one before, up to maxPause; success ends that. So a link with sparse traffic costs one look in
// maxPause batches, and one without traffic nothing.
const maxPause = 64

// insistent is how often a poller is turned away before the inbox is left to it: who polls once and then waits does not look
// in its place.
const insistent = 16

// leastTry is less than what looking once takes. It bounds a look where no time passes, as in tests with a clock of their own.
const leastTry = 100 * time.Nanosecond

// lateTimer is how late a timer of a process can be of which all goroutines sleep: the runtime waits for packets and time in
// whole milliseconds.
const lateTimer = time.Millisecond

// spinner decides whether to look, for one inbox, whose lock guards it.
type spinner struct {
	most   time.Duration // for how long; 0 is never
	pause  int           // batches until the next look
	length int           // of the pause before
	asked  atomic.Uint32 // how often pollers found the inbox taken. Not guarded
}

// due is asked after each batch that was waited for.
func (s *spinner) due() bool {
	if s.most <= 0 {
		return false
	}
	if s.pause > 0 {
		s.pause--
		return false
	}
	return true
}

// found and missed say what became of a look.
func (s *spinner) found() { s.length = 0 }

func (s *spinner) missed() {
	s.length = min(max(1, 2*s.length), maxPause)
	s.pause = s.length
}

// enough reports whether the device has looked for as long as it is to look. A timeout that is near is waited for awake.
func (in *inbox) enough(now transport.Time, looked time.Duration) bool {
	if looked < in.spinner.most || looked >= in.spinner.most+lateTimer {
		return looked >= in.spinner.most
	}
	s := in.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timers.armed-now >= transport.Time(lateTimer)
}

// spin deals with the batches that come before the device has looked in vain for as long as it is to look. The inbox's lock is
// held.
func (in *inbox) spin() error {
	if !in.spinner.due() {
		return nil
	}
	in.spinner.asked.Store(0)
	var since transport.Time
	for tries := 0; ; tries++ {
		if in.spinner.asked.Load() > insistent {
			return nil // a poller looks in our place
		}
		if tries%8 == 0 {
			now := in.shard.dev.now()
			switch {
			case tries == 0:
				since = now
			case in.enough(now, max(time.Duration(now-since), time.Duration(tries)*leastTry)):
				in.spinner.missed()
				return nil
			}
		}
		runtime.Gosched()
		in.shard.sendACKsHeldFor(holdSpinning)
		if err := in.shared.TryRecv(in.rb); err != nil {
			return err
		}
		// Packets that nobody takes do not keep the device looking.
		if len(in.rb.Frames) > 0 && in.deliver() {
			in.spinner.found()
			in.spinner.asked.Store(0)
			tries = -1
		}
	}
}
