package qp

// The counters of an empty queue put elsewhere, so that tests reach their wrap.

func (q *SendQueue) StartAt(n uint32) { q.ring.head, q.ring.tail = n, n }

func (q *RecvQueue) StartAt(n uint32) { q.ring.head, q.ring.tail = n, n }

func (c *CQ) StartAt(n uint32) { c.ring.head, c.ring.tail = n, n }
