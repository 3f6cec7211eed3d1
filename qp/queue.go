package qp

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// Errors of a rejected work request, for errors.Is. The returned errors wrap them and name the
// value and the limit.
var (
	ErrQueueFull = errors.New("queue is full")
	ErrTooLarge  = errors.New("work request is too large")
	ErrBadState  = errors.New("queue pair is in the wrong state")
	ErrBadWR     = errors.New("work request is not valid")
)

// MaxDepth is the maximum depth of a queue.
const MaxDepth = 1 << 20

// Segment is a range of local memory in a queued request: an SGE and, once the transport has
// resolved and checked it, the region.
type Segment struct {
	Addr   uint64
	Length uint32
	LKey   uint32
	Region *mr.Region
}

// fullError is allocated once for each queue, because a program may often post to a full queue.
type fullError struct {
	queue string
	depth int
}

func (e *fullError) Error() string {
	return fmt.Sprintf("qp: %s queue is full: all %d requests are outstanding; poll completions before posting more",
		e.queue, e.depth)
}

func (e *fullError) Unwrap() error { return ErrQueueFull }

// messageLength returns the total length of the SGEs. It fails if they exceed a limit of the
// queue.
func messageLength(queue string, sg []SGE, maxSGE int) (uint64, error) {
	if len(sg) > maxSGE {
		return 0, fmt.Errorf("qp: %w: %d SGEs, the limit of the %s queue is %d", ErrTooLarge, len(sg), queue, maxSGE)
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

// withLen returns s with length n. If s is too small, it returns a new slice for limit elements:
// the slice of each queue slot is thus allocated at most once.
func withLen[T any](s []T, n, limit int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, max(n, limit))
}
