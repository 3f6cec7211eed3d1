package bench

import (
	"cmp"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// sideTimes is what a side used during an interval.
type sideTimes struct {
	took time.Duration // length of the interval, including the slices of the other side
	turn time.Duration // slices of this side; 0: unknown
	// Of Server, Client and bothEnds: processor time, and time spent waiting for a processor.
	used, waited [3]time.Duration
}

// own returns the side's own time: its slices, less the time in which its busiest end waited for
// a processor. Without slices it is the processor time of the busiest end.
func (h *sideTimes) own() time.Duration {
	busiest := 0
	for end, u := range h.used {
		if u > h.used[busiest] {
			busiest = end
		}
	}
	return max(h.used[busiest], h.turn-h.waited[busiest])
}

// member is a process of a side, with the processes that it has started.
type member struct {
	cmd  *exec.Cmd
	end  int
	pids []int // determined once the measurement has settled
}

// turnstile lets the processes of two sides run alternately. Its methods are safe for concurrent
// use.
type turnstile struct {
	settle time.Duration // time from the start of both clients until readings begin

	mu   sync.Mutex // guards the fields below
	in   [2][]*member
	over [2]bool
	turn int // side that runs now
	// Time of the last change of sides, and the total of each side's slices before it.
	since time.Time
	had   [2]time.Duration
	// When both clients had started, whether settle has passed since, and the first and the last
	// reading of both sides.
	clients     time.Time
	settled     bool
	first, last *reading
}

// reading is what both sides have used up to a time.
type reading struct {
	at    time.Time
	sides [2]sideTimes
}

// enter adds a process that was just started.
func (t *turnstile) enter(side, end int, c *exec.Cmd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in[side] = append(t.in[side], &member{cmd: c, end: end})
	if side != t.turn {
		pause(c)
	}
}

// leave records that all processes of a side have ended. The other side is not stopped any more.
func (t *turnstile) leave(side int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over[side] = true
	t.to(1 - side)
}

// next lets the other side run, unless it has left.
func (t *turnstile) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := 1 - t.turn; !t.over[other] {
		t.to(other)
	}
	if t.turn == 0 {
		t.count()
	}
}

func (t *turnstile) to(side int) {
	now := time.Now()
	if !t.since.IsZero() {
		t.had[t.turn] += now.Sub(t.since)
	}
	t.since = now
	if t.turn != side {
		for _, m := range t.in[t.turn] {
			pause(m.cmd)
		}
	}
	t.turn = side
	for _, m := range t.in[side] {
		resume(m.cmd)
	}
}

// count takes a reading of both sides if both are measuring.
func (t *turnstile) count() {
	for side, members := range t.in {
		if t.over[side] || !slices.ContainsFunc(members, func(m *member) bool { return m.end == Client }) {
			return
		}
	}
	if t.clients.IsZero() {
		t.clients = time.Now()
	}
	if time.Since(t.clients) < t.settle {
		return
	}
	if !t.settled {
		t.settled = true
		t.find()
		return
	}
	switch r := t.read(); {
	case t.first == nil:
		t.first = r
	case r.follows(cmp.Or(t.last, t.first)):
		t.last = r
	}
}

// follows reports whether r is a later reading of the same processes. If a process has ended
// since, its time is missing and the result is false.
func (r *reading) follows(before *reading) bool {
	for side := range r.sides {
		for end, u := range r.sides[side].used {
			if u < before.sides[side].used[end] {
				return false
			}
		}
	}
	return true
}

// find determines the processes that members have started.
func (t *turnstile) find() {
	for _, members := range t.in {
		for _, m := range members {
			m.pids = groupOf(m.cmd)
		}
	}
}

// read returns what both sides have used so far.
func (t *turnstile) read() *reading {
	k := &reading{at: t.since}
	for side, members := range t.in {
		h := &k.sides[side]
		h.turn = t.had[side]
		for _, m := range members {
			if m.end == noEnd {
				continue
			}
			ran, waited := spent(m.pids)
			h.used[m.end] += ran
			h.waited[m.end] += waited
		}
	}
	return k
}

// sideTimes returns what a side used between the first and the last reading; ok is false if there
// are fewer than two.
func (t *turnstile) sideTimes(side int) (h sideTimes, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		return sideTimes{}, false
	}
	from, to := &t.first.sides[side], &t.last.sides[side]
	h = sideTimes{took: t.last.at.Sub(t.first.at), turn: to.turn - from.turn}
	for end := range h.used {
		h.used[end], h.waited[end] = to.used[end]-from.used[end], to.waited[end]-from.waited[end]
	}
	return h, true
}

// turns changes sides after each slice until wait returns.
func (t *turnstile) turns(slice time.Duration, wait func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait()
	}()
	tick := time.NewTicker(slice)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.next()
		case <-ended:
			return
		}
	}
}
