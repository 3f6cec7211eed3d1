package packet

import (
	"errors"
	"fmt"
)

// Queue is one of several queues that a link receives by. Everything it says of a frame is as the link says it, and what it
// counts the link counts.
type Queue interface {
	Shared
	Pender
}

// Splitter is a link that can receive by several queues.
type Splitter interface {
	// Split is as the function [Split]. Its error is [errors.ErrUnsupported] where the host does not let it.
	Split(n int) ([]Queue, error)
}

// Split makes l receive by n queues, 2 and more: a packet for queue pair q comes to queue q mod n, as far as the host can tell
// which that is. It is called once, before anybody receives from l, and from then on only the queues are received from. They
// are closed with the link. A link that cannot, or around which a decorator stands that harms frames, gives an error that is
// [errors.ErrUnsupported], and receives as before.
func Split(l Link, n int) ([]Queue, error) {
	if s, ok := l.(Splitter); ok {
		return s.Split(n)
	}
	return nil, fmt.Errorf("packet: %s: several receive queues: %w", l.Caps().Name, errors.ErrUnsupported)
}

// Split makes the link below receive by n queues, and sees what comes by each.
func (t *tap) Split(n int) ([]Queue, error) {
	queues, err := Split(t.Link, n)
	for i, q := range queues {
		queues[i] = tappedQueue{&sharedTap{t, q}, q}
	}
	return queues, err
}

type tappedQueue struct {
	*sharedTap
	Pender
}
