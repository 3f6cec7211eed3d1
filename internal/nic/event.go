package nic

import (
	"container/list"
	"context"
	"sync"

	"github.com/gorxe/gorxe/qp"
)

// AsyncEvent is something that happened and that no completion tells of.
type AsyncEvent struct {
	Type qp.EventType
	// What it is about; all are nil or 0 for an event of the device.
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Port int
}

// eventKey names what a reader of events is told at most once at a time.
type eventKey struct {
	object any
	typ    qp.EventType
}

// events is the queue of asynchronous events of a device. A reader that is slow or absent
// costs no memory: an event that was not read yet takes the place of an earlier one of the
// same type about the same object, and those about an object that is closed are dropped.
// So there are never more than a few for each object that exists.
type events struct {
	mu     sync.Mutex
	queue  list.List                  // guarded by mu: of AsyncEvent, oldest first
	at     map[eventKey]*list.Element // guarded by mu: where each is in queue
	closed bool                       // guarded by mu

	token token
	done  chan struct{} // closed with the device
}

func newEvents() *events {
	return &events{at: map[eventKey]*list.Element{}, token: newToken(), done: make(chan struct{})}
}

// raise enters an event. It may be called with any lock held.
func (e *events) raise(ev AsyncEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := ev.key()
	switch at := e.at[key]; {
	case e.closed:
	case at != nil:
		e.queue.MoveToBack(at)
	default:
		e.at[key] = e.queue.PushBack(ev)
		e.token.wake()
	}
}

// forget drops what was not read about object.
func (e *events) forget(object any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for typ := qp.EventType(0); typ < qp.NumEventTypes && len(e.at) > 0; typ++ {
		key := eventKey{object, typ}
		if at := e.at[key]; at != nil {
			e.queue.Remove(at)
			delete(e.at, key)
		}
	}
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	close(e.done)
}

// next takes the oldest event. over says whether none will come any more.
func (e *events) next() (ev AsyncEvent, ok, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	front := e.queue.Front()
	if front == nil {
		return AsyncEvent{}, false, e.closed
	}
	ev = e.queue.Remove(front).(AsyncEvent)
	delete(e.at, ev.key())
	if e.queue.Len() > 0 {
		e.token.wake()
	}
	return ev, true, false
}

// key names the event's type and object.
func (ev *AsyncEvent) key() eventKey {
	switch {
	case ev.QP != nil:
		return eventKey{ev.QP, ev.Type}
	case ev.CQ != nil:
		return eventKey{ev.CQ, ev.Type}
	case ev.SRQ != nil:
		return eventKey{ev.SRQ, ev.Type}
	}
	return eventKey{nil, ev.Type}
}

// Event waits for the next asynchronous event. Without one it returns the cause of ctx,
// or [ErrClosed] once the device is closed. Several may wait; each event goes to one.
func (d *Device) Event(ctx context.Context) (AsyncEvent, error) {
	e := d.events
	for {
		ev, ok, over := e.next()
		switch {
		case ok:
			return ev, nil
		case over:
			return AsyncEvent{}, ErrClosed
		case ctx.Err() != nil:
			return AsyncEvent{}, context.Cause(ctx)
		}
		select {
		case <-e.token:
		case <-ctx.Done():
		case <-e.done:
		}
	}
}

// qpSink and srqSink raise the events of a queue pair and of an SRQ.
type (
	qpSink  QP
	srqSink SRQ
)

func (q *qpSink) Event(t qp.EventType) {
	if failsQP(t) {
		(*QP)(q).failed(Failure{Event: t})
	}
	q.shard.dev.events.raise(AsyncEvent{Type: t, QP: (*QP)(q)})
}

func (s *srqSink) Event(t qp.EventType) {
	s.shard.dev.events.raise(AsyncEvent{Type: t, SRQ: (*SRQ)(s)})
}
