package nic

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/transport"
)

// CQ.Poll on an empty queue also receives: it takes one batch from a link and runs the machines in
// the caller's goroutine, so no wake-up lies between a packet and its completion. The receiving
// goroutines keep waiting meanwhile, so a device is also served while its program does not poll.

// otherTurns is the interval, in polls of one CQ, at which a poll receives from the next inbox in
// turn; all other polls receive from the last active one (see poller). The receiving goroutines
// serve all inboxes too.
const otherTurns = 16

// pollable is the list of the inboxes that pollers may receive from.
type pollable struct {
	list atomic.Pointer[[]*inbox] // a change stores a new list, with all shards' locks held
}

func (p *pollable) all() []*inbox {
	if list := p.list.Load(); list != nil {
		return *list
	}
	return nil
}

// add lets pollers receive from in, if several goroutines can. All shards' locks are held.
func (p *pollable) add(in *inbox) {
	if in.shared == nil {
		return
	}
	list := append(slices.Clone(p.all()), in)
	p.list.Store(&list)
}

// remove removes the inboxes of w. A poller that still has one of them finds the link closed. All
// shards' locks are held.
func (p *pollable) remove(w *attachedLink) {
	list := slices.DeleteFunc(slices.Clone(p.all()), func(in *inbox) bool { return in.wire == w })
	p.list.Store(&list)
}

// poller selects the inbox that a poll of one CQ receives from.
type poller struct {
	// lastActive is the inbox in which polling last found a completion or, if it never did, a
	// packet; nil: none.
	lastActive atomic.Pointer[inbox]
	turns      atomic.Uint32 // number of calls of next
}

// next returns the inbox to receive from, nil if there is none.
func (p *poller) next(list []*inbox) *inbox {
	if len(list) == 0 {
		return nil
	}
	n, last := p.turns.Add(1), p.lastActive.Load()
	switch {
	case last == nil:
		return list[int(n)%len(list)]
	case n%otherTurns != 0:
		return last
	}
	return list[int(n/otherTurns)%len(list)]
}

// drive receives and processes a batch that has arrived and that no other goroutine processes. It
// returns the inbox of the batch, nil if there was none. It never waits for packets. No lock is
// held.
func (d *Device) drive(p *poller) *inbox {
	in := p.next(d.pollable.all())
	if in == nil {
		return nil
	}
	in.shard.sendHeldACKs() // the program polls again, so it has not answered
	if !in.mu.TryLock() {
		in.spinner.pollerMisses.Add(1)
		return nil
	}
	defer in.mu.Unlock()
	if err := in.shared.TryRecv(in.rb); err != nil {
		// The receiving goroutine gets the error too, and handles it.
		p.lastActive.CompareAndSwap(in, nil)
		return nil
	}
	if len(in.rb.Frames) == 0 {
		return nil
	}
	p.lastActive.CompareAndSwap(nil, in)
	in.polled = true
	in.deliver()
	in.polled = false
	return in
}

// Sleeping and waking costs time at both ends: the receiving host switches threads, and on many
// hosts, especially virtual machines, the sender pays for waking another processor. So a goroutine
// that has received a batch busy-polls for the next one before it sleeps. It yields to other
// goroutines between polls.
//
// Busy-polling pays only if the next batch usually arrives during it. After each busy-poll in vain,
// the receiver sleeps without busy-polling for a number of batches: twice as many as after the
// previous one, up to maxPause. A busy-poll that finds a batch resets the number. So a link with
// sparse traffic costs one busy-poll per maxPause batches, and a link without traffic costs
// nothing.
const maxPause = 64

// maxPollerMisses is the number of times that pollers find the inbox taken before its goroutine
// stops busy-polling and leaves the inbox to them. It is more than a few because a caller that
// polls once and then waits does not replace the busy-poll.
const maxPollerMisses = 16

// leastTry is the minimum duration that each attempt of a busy-poll counts, less than it takes. It
// ends a busy-poll during which the clock does not advance, as in tests with a clock of their own.
const leastTry = 100 * time.Nanosecond

// lateTimer is the maximum delay of a timer while all goroutines of the process sleep: the runtime
// then waits for packets and timers in whole milliseconds.
const lateTimer = time.Millisecond

// spinner decides when the goroutine of one inbox busy-polls. The inbox's lock guards it.
type spinner struct {
	maxSpin      time.Duration // duration of a busy-poll without a batch; 0: never busy-poll
	pause        int           // number of batches until the next busy-poll
	length       int           // length of the last pause, 0 after a success
	pollerMisses atomic.Uint32 // number of times that pollers found the inbox taken; not guarded
}

// due reports whether to busy-poll. It is called after each batch that was waited for.
func (s *spinner) due() bool {
	if s.maxSpin <= 0 {
		return false
	}
	if s.pause > 0 {
		s.pause--
		return false
	}
	return true
}

// found and missed record the result of a busy-poll.
func (s *spinner) found() { s.length = 0 }

func (s *spinner) missed() {
	s.length = min(max(1, 2*s.length), maxPause)
	s.pause = s.length
}

// enough reports whether a busy-poll that has found no batch for the duration looked may end: after
// maxSpin, except while a timeout of the shard is nearer than lateTimer. Then the busy-poll ends
// after maxSpin + lateTimer, because the runtime's timer could be late.
func (in *inbox) enough(now transport.Time, looked time.Duration) bool {
	if looked < in.spinner.maxSpin || looked >= in.spinner.maxSpin+lateTimer {
		return looked >= in.spinner.maxSpin
	}
	s := in.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timers.armed-now >= transport.Time(lateTimer)
}

// spin busy-polls, if that is due, and processes the batches that arrive, until none has arrived
// for as long as enough requires or pollers receive instead. The inbox's lock is held.
func (in *inbox) spin() error {
	if !in.spinner.due() {
		return nil
	}
	in.spinner.pollerMisses.Store(0)
	var since transport.Time
	for tries := 0; ; tries++ {
		if in.spinner.pollerMisses.Load() > maxPollerMisses {
			return nil // a poller receives instead
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
		// Packets that fail the checks do not prolong the busy-poll.
		if len(in.rb.Frames) > 0 && in.deliver() {
			in.spinner.found()
			in.spinner.pollerMisses.Store(0)
			tries = -1
		}
	}
}
