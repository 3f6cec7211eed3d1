//go:build linux && (amd64 || arm64)

package trap

import (
	"slices"
	"sync"
)

// A scheduler decides which calls are answered now, and how many workers exist.
//
// An answer takes as long as an access to memory of the program or a method of the handler. So
// that no program delays others, each call that is answered has its own worker, and one more
// worker receives notifications. One process has at most scheduler.each workers, but only one
// while at least half of all workers are busy; its further calls are queued. Processes whose
// queued calls wait only for a free worker take turns. Several processes together can still
// occupy all workers, but one process cannot.
//
// Calls are queued here and not in the kernel, where a signal whose handler lacks SA_RESTART
// would end them with EINTR.
type scheduler struct {
	all, each int // maximum number of calls that are answered at a time: of all processes, of one process

	mu   sync.Mutex
	idle int // number of workers that wait for a notification
	busy int // number of calls that are being answered
	// blocked is the number of busy calls between leave and resume: they access memory of their
	// program outside the handler's methods and may wait for a page of that memory without limit.
	// The end of the server does not wait for them.
	blocked int
	groups  map[int]*group // groups with calls, by thread group ID
	ready   []*group       // groups with queued calls that wait only for a free worker
	ended   bool
	// drained is closed when the server has ended, no worker is idle, and all busy calls are
	// blocked.
	drained chan struct{}
}

// A group is a process (thread group) with calls. scheduler.mu guards it.
type group struct {
	busy  int     // calls that are being answered; at least 1 if calls are queued and the group is not in ready
	queue []*Call // oldest first
	ready bool    // true while the group is in scheduler.ready
}

// maxIdle is the maximum number of workers that stay when there are no calls. With four, the
// calls of one thread moved between processors and took three times as long in a quarter of the
// measurements.
const maxIdle = 2

func (s *scheduler) init(all, each, idle int) {
	s.all, s.each, s.idle = all, min(all, each), idle
	s.groups, s.drained = map[int]*group{}, make(chan struct{})
}

// begin adds a call that an idle worker has received. If now is true, the worker answers it;
// otherwise the call is queued, or the server has ended. If more is true, the caller starts
// another worker, which is already counted as idle.
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
		s.markReady(g)
		return false, false
	}
	s.take(g)
	s.idle--
	if s.idle == 0 {
		s.idle, more = 1, true
	}
	return true, more
}

// free reports whether one more call of g may be answered. It does not check the limit for all
// processes.
func (s *scheduler) free(g *group) bool {
	return g.busy == 0 || g.busy < s.each && s.busy < (s.all+1)/2
}

func (s *scheduler) take(g *group) {
	g.busy++
	s.busy++
}

// markReady adds g to ready if its next call waits only for a free worker.
func (s *scheduler) markReady(g *group) {
	if len(g.queue) > 0 && s.free(g) && !g.ready {
		g.ready = true
		s.ready = append(s.ready, g)
	}
}

// finish removes a call that a worker has answered. next is the call that the worker answers
// next. If next is nil, the worker is idle; if idle is also false, the worker ends.
func (s *scheduler) finish(c *Call) (next *Call, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	g := s.groups[c.group]
	g.busy--
	if s.ended {
		s.maybeDrained()
		return nil, false
	}
	s.markReady(g)
	s.removeIfIdle(c.group, g)
	if next := s.pop(); next != nil {
		return next, false
	}
	if s.idle >= maxIdle {
		return nil, false
	}
	s.idle++
	return nil, true
}

// pop removes the next call that may be answered from its queue and returns the call; nil if there
// is none.
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
		s.markReady(g)
		return c
	}
	return nil
}

// removeIfIdle removes a group without calls.
func (s *scheduler) removeIfIdle(id int, g *group) {
	if g.busy == 0 && len(g.queue) == 0 {
		delete(s.groups, id)
	}
}

// withdraw removes a call from its queue and reports whether the call was queued.
func (s *scheduler) withdraw(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.queued {
		return false
	}
	c.queued = false
	g := s.groups[c.group]
	g.queue = slices.DeleteFunc(g.queue, func(q *Call) bool { return q == c })
	s.removeIfIdle(c.group, g)
	return true
}

// isQueued reports whether a call is queued.
func (s *scheduler) isQueued(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.queued
}

// leave records that a call begins an access to memory of its program, outside the methods of the
// handler.
func (s *scheduler) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked++
	s.maybeDrained()
}

// resume records the end of an access that began with leave. It returns false if the server has
// ended: the call is then abandoned.
func (s *scheduler) resume() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked--
	return !s.ended
}

// retire records that an idle worker ends.
func (s *scheduler) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle--
	s.maybeDrained()
}

// end makes the workers end and drops the queued calls.
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
	s.maybeDrained()
}

// maybeDrained closes drained if its condition holds. The caller holds s.mu.
func (s *scheduler) maybeDrained() {
	if !s.ended || s.idle > 0 || s.busy > s.blocked {
		return
	}
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}
