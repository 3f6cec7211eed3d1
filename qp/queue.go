package qp

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// Why a work request is not taken, for errors.Is. The errors themselves say which value
// broke which limit.
var (
	ErrQueueFull = errors.New("queue is full")
	ErrTooLarge  = errors.New("work request is too large")
	ErrBadState  = errors.New("queue pair is in the wrong state")
	ErrBadWR     = errors.New("work request is not valid")
)

// MaxDepth is the largest number of requests a queue can be made for.
const MaxDepth = 1 << 20

// Segment is a piece of local memory in a queue: an SGE, and its region once the machine
// that executes the request has resolved and checked it.
type Segment struct {
	Addr   uint64
	Length uint32
	LKey   uint32
	Region *mr.Region
}

// fullError is made once for each queue: a poster that runs into it does so often.
type fullError struct {
	queue string
	depth int
}

func (e *fullError) Error() string {
	return fmt.Sprintf("qp: %s queue is full: all %d requests are outstanding; poll completions before posting more",
		e.queue, e.depth)
}

func (e *fullError) Unwrap() error { return ErrQueueFull }

// messageLength adds up the pieces of a request and holds them against the queue's limits.
func messageLength(queue string, sg []SGE, maxSGE int) (uint64, error) {
	if len(sg) > maxSGE {
		return 0, fmt.Errorf("qp: %w: %d SGEs, the %s queue was made for %d", ErrTooLarge, len(sg), queue, maxSGE)
	}
	var n uint64
	for i := range sg {
		n += uint64(sg[i].Length)
	}
	if n > MaxMessage {
		return 0, fmt.Errorf("qp: %w: SGEs of %d bytes, a message has at most %d", ErrTooLarge, n, uint64(MaxMessage))
	}
	return n, nil
}

// room returns s with space for n elements: in one step to the limit when s is too small,
// so that a slot allocates once at most.
func room[T any](s []T, n, limit int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, max(n, limit))
}
