//go:build linux

package ucma

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gorxe/gorxe/internal/uapi"
)

// An event is queued in a channel until the program fetches it.
type event struct {
	owner    *ident // identifier that counts the event; for a connection request, that of the listener
	newIdent *ident // new identifier of a connection request, nil for other events
	group    *group // of a multicast event
	resp     uapi.UCMEventResp
}

// A waiter is a thread of a program in GET_EVENT.
type waiter struct{ r *request }

// ErrInterrupted is the error of a command whose caller has a pending signal: the call fails with
// EINTR or is restarted.
var ErrInterrupted = errors.New("ucma: interrupted by a signal")

// push delivers an event to a waiting thread of the channel, or queues the event. The caller holds
// mu.
func (ch *Channel) push(e *event) {
	if ch.closed {
		return
	}
	e.owner.queued++
	ch.server.queued++
	ch.queue = append(ch.queue, e)
	ch.serve()
}

// serve delivers the oldest events to the waiting threads. The caller holds mu.
func (ch *Channel) serve() {
	for len(ch.queue) > 0 && len(ch.waiters) > 0 {
		w := ch.waiters[0]
		ch.waiters = ch.waiters[1:]
		// In another goroutine, because the program's memory may block it.
		go ch.deliver(w.r, ch.take())
	}
	ch.signal()
}

// take removes the oldest event and counts it as fetched. The caller holds mu.
func (ch *Channel) take() *event {
	e := ch.queue[0]
	ch.queue[0], ch.queue = nil, ch.queue[1:]
	e.owner.queued--
	ch.server.queued--
	e.count(1)
	return e
}

// count adds n to the numbers of fetched events.
func (e *event) count(n int) {
	e.owner.fetched += uint32(n)
	if e.group != nil {
		e.group.fetched += uint32(n)
	}
}

// deliver stores an event for a thread. An event that cannot be stored is queued again, unless its
// identifier has ended meanwhile; the new identifier of a connection request then ends too, as with
// the queued events of a listener (see removeEvents).
func (ch *Channel) deliver(r *request, e *event) {
	err := r.respond(e.resp)
	if err != nil {
		s := ch.server
		s.mu.Lock()
		// The event's identifier may have been moved to another channel, or may have ended.
		switch now := e.owner.ch; {
		case !e.owner.dead && !now.closed:
			e.count(-1)
			e.owner.queued++
			s.queued++
			now.queue = slices.Insert(now.queue, 0, e)
			now.serve()
		case e.newIdent != nil:
			e.newIdent.destroy()
		}
		s.mu.Unlock()
	}
	ch.level.settle()
	r.end(err)
}

// getEvent answers GET_EVENT, now or when there is an event.
func (r *request) getEvent() {
	wait := !r.caller.NonBlocking()
	ch, s := r.ch, r.ch.server
	w := &waiter{r}
	s.mu.Lock()
	var e *event
	var err error
	switch {
	case ch.closed:
		err = fmt.Errorf("the channel is closed: %w", uapi.EBADF)
	case len(ch.queue) > 0:
		e = ch.take()
		ch.signal()
	case wait:
		ch.waiters = append(ch.waiters, w)
	default:
		err = fmt.Errorf("no event: %w", uapi.EAGAIN)
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		r.end(err)
		return
	case e != nil:
		ch.deliver(r, e)
		return
	}
	r.caller.OnInterrupt(func() {
		if ch.dismiss(w) {
			r.end(ErrInterrupted)
		}
	})
}

// dismiss ends the wait of a thread and returns true. If an event is being delivered to the thread,
// dismiss returns false.
func (ch *Channel) dismiss(w *waiter) bool {
	s := ch.server
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(ch.waiters, w)
	if at >= 0 {
		ch.waiters = slices.Delete(ch.waiters, at, at+1)
	}
	return at >= 0
}

// removeEvents removes the queued events for which of returns true, and destroys the new
// identifiers of removed connection requests. The caller holds mu.
func (ch *Channel) removeEvents(of func(*event) bool) {
	var lost []*ident
	ch.queue = slices.DeleteFunc(ch.queue, func(e *event) bool {
		if !of(e) {
			return false
		}
		e.owner.queued--
		ch.server.queued--
		if e.newIdent != nil {
			lost = append(lost, e.newIdent)
		}
		return true
	})
	ch.signal()
	for _, i := range lost {
		i.destroy()
	}
}
