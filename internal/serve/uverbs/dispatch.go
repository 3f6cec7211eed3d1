//go:build linux

package uverbs

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
)

// readEvents dispatches the asynchronous events of the device to the programs, until Close.
func (s *Server) readEvents() {
	for {
		e, err := s.events.Event(context.Background())
		if err != nil { // the reader or the device is closed
			return
		}
		s.dispatch(e)
	}
}

// dispatch passes an event to the programs that it concerns: that of a queue to its program,
// those of the port and of the device to all. Shared receive queues of programs report their
// events by [srq.Event]. Events of objects of this process are ignored.
func (s *Server) dispatch(e verbs.AsyncEvent) {
	switch {
	case e.QP != nil:
		s.routes.push(e.QP, e.Type)
	case e.CQ != nil:
		s.routes.push(e.CQ, e.Type)
	case e.Port != 0:
		s.portEvent(e.Type)
	case e.Type == verbs.EventDeviceFatal:
		for _, c := range s.open() {
			c.push(&c.device, e.Type)
		}
	}
}

func (s *Server) portEvent(e qp.EventType) {
	s.mu.Lock()
	f := s.onPort
	s.mu.Unlock()
	if f != nil {
		f()
	}
	for _, c := range s.open() {
		c.push(&c.ports, e)
	}
}

// open returns the contexts that are open now.
func (s *Server) open() []*Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.contexts))
}

// routes maps the queues of the device to their programs. It does not need the lock of a context,
// which a call of the program may hold for as long as the program delays an access to its memory.
type routes struct {
	mu  sync.Mutex
	all map[any]route // by *verbs.QP or *verbs.CQ; guarded by mu
}

// A route is the context and the event source of a queue.
type route struct {
	ctx  *Context
	from *source // of the queue's events
}

// add routes the events of a queue to its program.
func (t *routes) add(queue any, c *Context, from *source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[any]route{}
	}
	t.all[queue] = route{c, from}
}

// remove ends the routing. No event of the queue is pushed after it returns.
func (t *routes) remove(queue any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, queue)
}

// push passes an event of a queue to its program. It holds the lock until the record is queued.
func (t *routes) push(queue any, e qp.EventType) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.all[queue]; ok {
		r.ctx.push(r.from, e)
	}
}
