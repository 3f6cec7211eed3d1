package qp

import "fmt"

// CQ is a completion queue without a lock.
type CQ struct {
	ring       ring[WC]
	depth      int
	overflowed bool
	armed      notice
}

// NewCQ returns a queue for depth completions; depth is taken into 1 to [MaxDepth].
func NewCQ(depth int) *CQ { return &CQ{depth: min(max(depth, 1), MaxDepth)} }

// Len is how many completions wait to be polled.
func (c *CQ) Len() int { return c.ring.len() }

// Depth is how many completions the queue was made for.
func (c *CQ) Depth() int { return c.depth }

// Overflowed is true once a completion found the queue full. From then on the queue is in
// error, as after IBV_EVENT_CQ_ERR: those it holds can be polled, no more are taken.
func (c *CQ) Overflowed() bool { return c.overflowed }

// Complete is Push without its result, for a queue that is only polled.
func (c *CQ) Complete(wc *WC) { c.Push(wc) }

// Push appends a copy of wc, unless the queue is full or has overflowed before. It reports whether
// [CQ.Arm] has asked for a notification of wc; a completion that is lost notifies too.
func (c *CQ) Push(wc *WC) (notify bool) {
	if notify = c.armed.due(wc); notify {
		c.armed = noticeNone
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

// Poll moves the oldest completions to dst, as many as fit, and returns how many.
func (c *CQ) Poll(dst []WC) int {
	n := min(len(dst), c.Len())
	for i := range n {
		dst[i] = *c.ring.at(c.ring.head)
		c.ring.head++
	}
	return n
}

// Resize changes how many completions the queue holds: 1 to [MaxDepth], not fewer than are
// in it. It keeps what is in it and, where the queue overflowed, that it did.
func (c *CQ) Resize(depth int) error {
	switch {
	case depth < 1 || depth > MaxDepth:
		return fmt.Errorf("qp: resize CQ: depth %d is out of range: it must be 1 to %d", depth, MaxDepth)
	case depth < c.Len():
		return fmt.Errorf("qp: resize CQ: depth %d is less than the %d completions in the queue; poll them first", depth, c.Len())
	}
	c.depth = depth
	c.ring.shrink(depth)
	return nil
}
