//go:build linux && (amd64 || arm64)

package trap

import (
	"slices"
	"sync"
)

// A scheduler decides which calls are answered now, and how many workers there are.
//
// An answer takes as long as an access to memory of the program, or a method of the handler. So that no
// program keeps others waiting, each call that is answered has a worker of its own, and one more worker takes
// notifications. One process has scheduler.each workers at most, and one while half of all are busy; its
// further calls wait in a queue. Processes whose queued calls lack only room among all workers take turns.
// Processes whose calls keep all workers busy still keep the others waiting, but one process cannot.
//
// Calls wait here and not in the kernel, where a signal whose handler lacks SA_RESTART would end them with EINTR.
type scheduler struct {
	all, each int // most calls answered at a time, of all processes and of one

	mu     sync.Mutex
	idle   int            // workers that wait for a notification
	busy   int            // calls that are answered
	away   int            // of these, accesses to memory of programs before or after a method of the handler
	groups map[int]*group // with calls, by thread group id
	ready  []*group       // with queued calls that lack only room among all
	ended  bool
	quiet  chan struct{} // closed when ended, no worker is idle, and no call is answered except those that are away
}

// A group is a process (thread group) with calls. The lock of the scheduler guards it.
type group struct {
	busy  int     // calls that are answered; at least 1 if there are queued ones and the group is not in ready
	queue []*Call // oldest first
	ready bool    // the group is in scheduler.ready
}

// maxIdle is the largest number of workers that stay when there are no calls: with four, calls of one thread, which
// then go from one processor to another, took three times as long in a fourth of the measurements.
const maxIdle = 2

func (s *scheduler) init(all, each, idle int) {
	s.all, s.each, s.idle = all, min(all, each), idle
	s.groups, s.quiet = map[int]*group{}, make(chan struct{})
}

// begin enters a call that an idle worker has received. now: the worker answers it; otherwise it is queued,
// or the server has ended. more: another worker is to be started, which counts as idle.
func (s *scheduler) begin(c *Call) (now, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false, false
	}
	g := s.groups[c.group]
	if g == nil {
		g = &group{}
		s.groups[c.group] = g
	}
	if !s.free(g) || len(g.queue) > 0 || s.busy >= s.all {
		c.queued, c.wait = true, &parked{call: c, queued: true}
		g.queue = append(g.queue, c)
		s.offer(g)
		return false, false
	}
	s.take(g)
	s.idle--
	if s.idle == 0 {
		s.idle, more = 1, true
	}
	return true, more
}

// free reports whether the share of g has room for one more call.
func (s *scheduler) free(g *group) bool {
	return g.busy == 0 || g.busy < s.each && s.busy < (s.all+1)/2
}

func (s *scheduler) take(g *group) {
	g.busy++
	s.busy++
}

// offer puts g in ready if only room among all keeps it from its next call.
func (s *scheduler) offer(g *group) {
	if len(g.queue) > 0 && s.free(g) && !g.ready {
		g.ready = true
		s.ready = append(s.ready, g)
	}
}

// finish ends a call that was answered by a worker. next is the call that the worker answers then. If there
// is none the worker is idle, or is to end if idle is false.
func (s *scheduler) finish(c *Call) (next *Call, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	g := s.groups[c.group]
	g.busy--
	if s.ended {
		s.settle()
		return nil, false
	}
	s.offer(g)
	s.tidy(c.group, g)
	if next := s.pop(); next != nil {
		return next, false
	}
	if s.idle >= maxIdle {
		return nil, false
	}
	s.idle++
	return nil, true
}

// pop takes the next queued call for the room that a finished call has left, nil if there is none.
func (s *scheduler) pop() *Call {
	for len(s.ready) > 0 {
		g := s.ready[0]
		s.ready[0], s.ready = nil, s.ready[1:]
		g.ready = false
		if len(g.queue) == 0 || !s.free(g) {
			continue
		}
		c := g.queue[0]
		g.queue[0], g.queue = nil, g.queue[1:]
		c.queued = false
		s.take(g)
		s.offer(g)
		return c
	}
	return nil
}

// tidy forgets a group without calls.
func (s *scheduler) tidy(id int, g *group) {
	if g.busy == 0 && len(g.queue) == 0 {
		delete(s.groups, id)
	}
}

// withdraw removes a call from its queue, and reports whether it was there.
func (s *scheduler) withdraw(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.queued {
		return false
	}
	c.queued = false
	g := s.groups[c.group]
	g.queue = slices.DeleteFunc(g.queue, func(q *Call) bool { return q == c })
	s.tidy(c.group, g)
	return true
}

// waits reports whether a call is queued.
func (s *scheduler) waits(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.queued
}

// leave notes that a call that is answered begins an access to memory of its program, outside the methods of
// the handler.
func (s *scheduler) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away++
	s.settle()
}

// comeBack notes the end of an access that began with leave. It is false if the server has ended: then the
// call is given up.
func (s *scheduler) comeBack() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away--
	return !s.ended
}

// retire notes that an idle worker ends.
func (s *scheduler) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle--
	s.settle()
}

// end lets the workers end, and drops the queued calls.
func (s *scheduler) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, g := range s.groups {
		for _, c := range g.queue {
			c.queued = false
		}
		g.queue = nil
	}
	s.ready = nil
	s.settle()
}

// settle closes quiet if it is time.
func (s *scheduler) settle() {
	if !s.ended || s.idle > 0 || s.busy > s.away {
		return
	}
	select {
	case <-s.quiet:
	default:
		close(s.quiet)
	}
}
