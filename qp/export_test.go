package qp

// The counters of an empty queue put elsewhere, so that tests reach their wrap.

func (q *SendQueue) StartAt(n uint32) { q.head, q.tail = n, n }

func (q *RecvQueue) StartAt(n uint32) { q.head, q.tail = n, n }

func (c *CQ) StartAt(n uint32) { c.head, c.tail = n, n }
