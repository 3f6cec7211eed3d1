package qp

import "fmt"

// CQ is a completion queue without a lock.
type CQ struct {
	ring       ring[WC]
	depth      int
	overflowed bool
	armed      notifyKind
}

// NewCQ returns a queue for depth completions; depth is limited to the range 1 to [MaxDepth].
func NewCQ(depth int) *CQ { return &CQ{depth: min(max(depth, 1), MaxDepth)} }

// Len returns the number of completions in the queue.
func (c *CQ) Len() int { return c.ring.len() }

// Depth returns the capacity in completions.
func (c *CQ) Depth() int { return c.depth }

// Overflowed reports whether a completion found the queue full. After that the queue is in the
// error state, as after IBV_EVENT_CQ_ERR: it accepts no more completions, but those it holds
// can be polled.
func (c *CQ) Overflowed() bool { return c.overflowed }

// Complete is [CQ.Push] without the result, for a queue that is only polled.
func (c *CQ) Complete(wc *WC) { c.Push(wc) }

// Push appends a copy of wc, unless the queue is full or has overflowed before. It reports whether
// wc, appended or not, satisfies a request of [CQ.Arm] for a notification.
func (c *CQ) Push(wc *WC) (notify bool) {
	if notify = c.armed.due(wc); notify {
		c.armed = notifyNone
	}
	if c.overflowed || c.Len() == c.depth {
		c.overflowed = true
		return notify
	}
	if c.ring.full() {
		c.ring.grow(c.depth)
	}
	*c.ring.at(c.ring.tail) = *wc
	c.ring.tail++
	return notify
}

// Poll moves the oldest completions to dst, up to len(dst), and returns their number.
func (c *CQ) Poll(dst []WC) int {
	n := min(len(dst), c.Len())
	for i := range n {
		dst[i] = *c.ring.at(c.ring.head)
		c.ring.head++
	}
	return n
}

// Resize changes the depth to 1 to [MaxDepth] completions, but not to fewer than the queue
// holds. The queue keeps its completions and the result of Overflowed.
func (c *CQ) Resize(depth int) error {
	switch {
	case depth < 1 || depth > MaxDepth:
		return fmt.Errorf("qp: resize CQ: depth %d is out of range: it must be 1 to %d", depth, MaxDepth)
	case depth < c.Len():
		return fmt.Errorf("qp: resize CQ: depth %d is less than the %d completions in the queue; poll them first",
			depth, c.Len())
	}
	c.depth = depth
	c.ring.shrink(depth)
	return nil
}
