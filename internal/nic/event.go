package nic

import (
	"cmp"
	"container/list"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/nic/signal"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// AsyncEvent is an event that no completion reports.
type AsyncEvent struct {
	Type qp.EventType
	// Object of the event: one of the following; all are nil or 0 for an event of the device.
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Port int
}

// eventKey identifies the events of which at most one is queued at a time.
type eventKey struct {
	object any
	typ    qp.EventType
}

// events is the queue of asynchronous events of a device. A slow or absent reader costs no memory:
// of several unread events of the same type and object only the latest is kept, and unread events
// of a closed object are dropped. So there are never more than a few events per existing object.
type events struct {
	mu     sync.Mutex
	queue  list.List                  // guarded by mu: AsyncEvents, oldest first
	at     map[eventKey]*list.Element // guarded by mu: element of queue for each key
	closed bool                       // guarded by mu
	// readers get the same events in separate queues. Guarded by mu; a reader's own mu is taken
	// after it.
	readers map[*EventReader]struct{}

	token signal.Signal
	done  chan struct{} // closed with the device or the reader
}

func newEvents() *events {
	return &events{at: map[eventKey]*list.Element{}, token: signal.New(), done: make(chan struct{})}
}

// raise queues an event. It may be called with any lock held.
func (e *events) raise(ev AsyncEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.readers {
		r.raise(ev)
	}
	key := ev.key()
	switch at := e.at[key]; {
	case e.closed:
	case at != nil:
		e.queue.MoveToBack(at)
	default:
		e.at[key] = e.queue.PushBack(ev)
		e.token.Wake()
	}
}

// forget drops the unread events of object.
func (e *events) forget(object any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.readers {
		r.forget(object)
	}
	for typ := qp.EventType(0); typ < qp.NumEventTypes && len(e.at) > 0; typ++ {
		key := eventKey{object, typ}
		if at := e.at[key]; at != nil {
			e.queue.Remove(at)
			delete(e.at, key)
		}
	}
}

// close ends the queue and the queues of its readers. Closing again does nothing.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	close(e.done)
	for r := range e.readers {
		r.close()
	}
}

// next removes and returns the oldest event; ok is false if there is none. over is true if the
// queue is closed and no event is left.
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
		e.token.Wake()
	}
	return ev, true, false
}

// key returns the event's type and object.
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

// Event waits for the next asynchronous event. If ctx ends first, it returns the cause of ctx; once
// the device is closed, [ErrClosed]. Several goroutines may wait; each event is returned to one.
func (d *Device) Event(ctx context.Context) (AsyncEvent, error) { return d.events.await(ctx) }

// await implements Event.
func (e *events) await(ctx context.Context) (AsyncEvent, error) {
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

// An EventReader receives every event of a device, independently of other readers and of
// [Device.Event]. Its methods are safe for concurrent use.
type EventReader struct {
	*events
	of *events // queue of the device
}

// NewEventReader returns a reader of the events from now on. Its queue is bounded like that of
// [Device.Event].
func (d *Device) NewEventReader() *EventReader {
	r := &EventReader{newEvents(), d.events}
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.closed {
		r.close()
		return r
	}
	if r.of.readers == nil {
		r.of.readers = map[*EventReader]struct{}{}
	}
	r.of.readers[r] = struct{}{}
	return r
}

// Event waits for the next event. If ctx ends first, it returns the cause of ctx; once the reader
// or the device is closed, [ErrClosed].
func (r *EventReader) Event(ctx context.Context) (AsyncEvent, error) { return r.await(ctx) }

// Close ends the reader. Closing again does nothing.
func (r *EventReader) Close() {
	r.of.mu.Lock()
	delete(r.of.readers, r)
	r.of.mu.Unlock()
	r.close()
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

// Failure is the reason for which a queue pair went to ERR without a call of Modify. The zero
// Failure means that it did not.
type Failure struct {
	Status qp.WCStatus  // status of the completion that reported the failure, otherwise qp.WCSuccess
	Event  qp.EventType // asynchronous event that reported it, if Status is qp.WCSuccess
}

// None reports whether f is zero: the queue pair has not failed.
func (f Failure) None() bool { return f == Failure{} }

// Failure returns the queue pair's first failure since RESET. It is set before the completion
// that reports it can be polled.
func (q *QP) Failure() Failure {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.failure
}

// failed records f if it is the first failure of q since RESET. The lock is held.
func (q *QP) failed(f Failure) {
	if q.failure.None() {
		if q.failure = f; q.onFailure != nil {
			q.onFailure()
		}
	}
}

// completesInError records the failure of queue pair n, whose shard's lock is held.
func (d *Device) completesInError(n bth.QPN, status qp.WCStatus) {
	if q := d.shardOf(n).qps.Get(n); q != nil {
		q.failed(Failure{Status: status})
	}
}

// failsQP reports whether the queue pair is in ERR after an asynchronous event of type t.
func failsQP(t qp.EventType) bool {
	return t == qp.EventQPFatal || t == qp.EventQPReqErr || t == qp.EventQPAccessErr
}

// lostCQs are the overflowed CQs that failUsers of a shard has not yet handled.
type lostCQs struct {
	any atomic.Bool // cqs is not empty
	mu  sync.Mutex
	cqs []*CQ // guarded by mu
}

// lostCompletion records that c was full, or in error, when a completion was added. failUsers
// handles the consequences later, because the machine that added the completion is still running. A
// shard's lock is held.
func (d *Device) lostCompletion(c *CQ) {
	for _, s := range d.shards {
		s.lost.add(c)
		if s.multi {
			s.wakePump()
		}
	}
}

func (l *lostCQs) add(c *CQ) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.cqs, c) {
		l.cqs = append(l.cqs, c)
	}
	l.any.Store(true)
}

// take removes and returns one of the CQs, nil if there is none.
func (l *lostCQs) take() *CQ {
	if !l.any.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.cqs) - 1
	c := l.cqs[n]
	l.cqs[n], l.cqs = nil, l.cqs[:n]
	l.any.Store(n > 0)
	return c
}

// failUsers moves all queue pairs that complete into an overflowed CQ to ERR, because their
// results could no longer be reported, and raises CQ_ERR and QP_FATAL. In the IBA the CQ is in
// error (CQ_ERR) and each queue pair fails when it next completes; Linux rxe fails the queue pair
// whose receive completion was lost. The lock is held.
func (s *shard) failUsers(now transport.Time) {
	for c := s.lost.take(); c != nil; c = s.lost.take() {
		if !c.errRaised.Swap(true) {
			s.dev.events.raise(AsyncEvent{Type: qp.EventCQErr, CQ: c})
		}
		for _, q := range s.usersOf(c) {
			if q.attr.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState) == nil {
				q.attr.Raise(qp.EventQPFatal)
				q.machine.Modified(now)
			}
		}
	}
}

// usersOf returns the queue pairs that complete into c and are neither in RESET nor in ERR, in the
// order of their numbers.
func (s *shard) usersOf(c *CQ) []*QP {
	var out []*QP
	for _, q := range s.qps.All {
		state := q.attr.State()
		if (q.sendCQ == c || q.recvCQ == c) && state != qp.RESET && state != qp.ERR {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b *QP) int { return cmp.Compare(a.attr.Num, b.attr.Num) })
	return out
}

// OnFailure makes q call f at its first failure since RESET, with the lock of q's shard held: f
// must not wait.
func (q *QP) OnFailure(f func()) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.onFailure = f
}
