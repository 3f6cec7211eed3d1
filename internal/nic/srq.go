package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// SRQ is a shared receive queue. It belongs to the same shard as all queue pairs that use it; the
// shard's lock guards it.
type SRQ struct {
	Owner any // for the caller; set before the first event

	shard  *shard
	number uint64 // key in Device.srqs
	queue  *qp.SRQ
	users  int // queue pairs that use it
	closed bool
}

// CreateSRQ creates a shared receive queue of a user, nil for none. The caller has checked that
// the sizes are within the device's limits.
func (d *Device) CreateSRQ(user *User, pd *mr.PD, a qp.SRQAttr) (*SRQ, error) {
	s := &SRQ{shard: d.shardOfUser(user), queue: qp.NewSRQ(pd, a.MaxWR, a.MaxSGE)}
	s.queue.Events = (*srqSink)(s)
	if err := s.queue.Modify(a, qp.SRQLimit); err != nil {
		return nil, err
	}
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.shard.closed {
		return nil, ErrClosed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.srqs.Len() >= d.maxSRQ {
		return nil, fmt.Errorf("all %d shared receive queues of the device are in use: close one", d.maxSRQ)
	}
	if err := pd.Hold(); err != nil {
		return nil, err
	}
	s.number = d.srqs.Add(s)
	return s, nil
}

// usable returns an error if the queue or its shard is closed. The lock is held.
func (s *SRQ) usable() error {
	if s.closed || s.shard.closed {
		return fmt.Errorf("shared receive queue: %w", ErrClosed)
	}
	return nil
}

// hold adds a queue pair to the users of s. The lock is held.
func (s *SRQ) hold() error {
	if err := s.usable(); err != nil {
		return err
	}
	s.users++
	return nil
}

// PostRecv queues receive work requests and returns the number n of requests queued; after an
// error, wrs[n] was rejected and later requests were not examined.
func (s *SRQ) PostRecv(wrs []*qp.RecvWR) (n int, err error) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if err := s.usable(); err != nil {
		return 0, err
	}
	for _, wr := range wrs {
		if err := s.queue.Push(wr); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Modify is [qp.SRQ.Modify].
func (s *SRQ) Modify(a qp.SRQAttr, mask qp.SRQAttrMask) error {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	return s.queue.Modify(a, mask)
}

// Query returns the current attributes.
func (s *SRQ) Query() qp.SRQAttr {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	return s.queue.Query()
}

// Close destroys the queue; its receives end without a completion. It returns an error while
// queue pairs use the queue. Closing again does nothing.
func (s *SRQ) Close() error {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	switch {
	case s.closed:
		return nil
	case s.users > 0:
		return fmt.Errorf("the shared receive queue is in use: close its queue pairs first (it serves %d)", s.users)
	}
	s.closed = true
	s.queue.PD().Release()
	d := s.shard.dev
	d.mu.Lock()
	d.srqs.Remove(s.number)
	d.mu.Unlock()
	d.events.forget(s)
	return nil
}
