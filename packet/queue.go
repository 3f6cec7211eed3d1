package packet

import (
	"errors"
	"fmt"
)

// Queue is one of several receive queues of a link. The counters of the link include the frames of
// its queues.
type Queue interface {
	Shared
	PendingReporter
}

// Splitter is a link that can receive through several queues.
type Splitter interface {
	// Split does the work of the function [Split] for this link. The error is
	// [errors.ErrUnsupported] if the host does not support it.
	Split(n int) ([]Queue, error)
}

// Split makes l receive through n queues, at least 2: a packet for queue pair q arrives in
// queue q mod n, as far as the host can determine q. Split must be called once, before the
// first receive from l; from then on, receive only from the queues. Closing the link closes
// them. If the link cannot be split, or a fault-injecting decorator wraps it, the error is
// [errors.ErrUnsupported] and the link receives as before.
func Split(l Link, n int) ([]Queue, error) {
	if s, ok := l.(Splitter); ok {
		return s.Split(n)
	}
	return nil, fmt.Errorf("packet: %s: several receive queues: %w", l.Caps().Name, errors.ErrUnsupported)
}

// Split splits the wrapped link and taps each queue.
func (t *tap) Split(n int) ([]Queue, error) {
	queues, err := Split(t.Link, n)
	for i, q := range queues {
		queues[i] = tappedQueue{&sharedTap{t, q}, q}
	}
	return queues, err
}

type tappedQueue struct {
	*sharedTap
	PendingReporter
}
