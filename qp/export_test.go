package qp

// Sets the counters of an empty queue, so that tests reach their wrap-around.

func (q *SendQueue) StartAt(n uint32) { q.ring.head, q.ring.tail = n, n }

func (q *RecvQueue) StartAt(n uint32) { q.ring.head, q.ring.tail = n, n }

func (c *CQ) StartAt(n uint32) { c.ring.head, c.ring.tail = n, n }
