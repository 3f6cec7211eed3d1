package nic

import (
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// stallingMemory is memory whose accesses block until release is closed, like a page of a FUSE
// file.
type stallingMemory struct {
	entered chan struct{} // capacity 1: an access has begun
	release chan struct{}
}

func newStallingMemory() *stallingMemory {
	return &stallingMemory{make(chan struct{}, 1), make(chan struct{})}
}

func (m *stallingMemory) Size() uint64 { return 4096 }

func (m *stallingMemory) wait() error {
	select {
	case m.entered <- struct{}{}:
	default:
	}
	<-m.release
	return nil
}

func (m *stallingMemory) ReadAt([]byte, uint64) error  { return m.wait() }
func (m *stallingMemory) WriteAt([]byte, uint64) error { return m.wait() }

// A stall is a device of several shards, in one of which a goroutine waits for memory between
// begin and end, and its peer, whose receiver passes packets on to other shards.
type stall struct {
	t      *testing.T
	dev    *end // its queue pair is in shard 0
	peer   *end
	mem    *stallingMemory
	q      *QP // that the goroutine sends on
	to     *QP // its peer
	region *mr.Region
	posted chan struct{}
}

// newStall makes a stall in a shard.
func newStall(t *testing.T, at int) *stall {
	t.Helper()
	n := pipe.NewNet()
	open := func(seed uint64, l packet.Link) *Device {
		d, err := Open(Config{
			Name: "test", Links: []packet.Link{l}, Seed: seed, Shards: makerShards,
			MaxQP: 1 << 10, MaxMR: 1 << 10, MaxCQ: 8, MaxSRQ: 8,
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	s := &stall{t: t, mem: newStallingMemory(), posted: make(chan struct{})}
	s.dev = newEndOn(t, open(1, openLink(t, n, addrA)), 1000, 4096)
	s.peer = newEndOn(t, open(2, openLink(t, n, addrB)), 2000, 4096)
	s.dev.qp = s.queuePair(s.dev, 0)
	s.peer.qp = s.queuePair(s.peer, 1)
	s.connect(s.dev.qp, s.peer.qp)
	s.q, s.to = s.queuePair(s.dev, at), s.queuePair(s.peer, 2)
	s.connect(s.q, s.to)
	var err error
	if s.region, err = s.dev.dev.Register(s.dev.pd, s.mem, 0x50000, s.mem.Size(), allAccess); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin makes a goroutine wait for the memory with the lock of the shard held.
func (s *stall) begin() {
	go func() {
		defer close(s.posted)
		wr := s.dev.write(s.peer, 77, 0, 64)
		wr.Flags = 0
		wr.SGList = []qp.SGE{{Addr: s.region.IOVA(), Length: 64, LKey: s.region.LKey()}}
		if _, err := s.q.PostSend([]*qp.SendWR{wr}); err != nil {
			s.t.Error(err)
		}
	}()
	<-s.mem.entered
}

// queuePair creates a queue pair of e in a shard.
func (s *stall) queuePair(e *end, shard int) *QP {
	s.t.Helper()
	for {
		q := e.newQP()
		if q.shard.index == shard {
			return q
		}
		q.Close()
	}
}

func (s *stall) connect(q, peer *QP) {
	s.t.Helper()
	s.dev.connect(q, addrB, peer.Num(), s.peer.psn, usualRetry)
	s.peer.connect(peer, addrA, q.Num(), s.dev.psn, usualRetry)
}

// end releases the memory and closes the devices.
func (s *stall) end() {
	s.t.Helper()
	close(s.mem.release)
	<-s.posted
	closeAll(s.t, s.dev, s.peer)
}

// exchange writes by the queue pair in shard 0, in both directions.
func (s *stall) exchange() {
	s.t.Helper()
	s.dev.post(s.dev.write(s.peer, 1, 0, 64))
	s.dev.succeed(1)
	s.peer.post(s.peer.write(s.dev, 2, 0, 64))
	s.peer.succeed(1)
}

// returns fails the test if f does not return.
func (s *stall) returns(name string, f func()) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		s.t.Fatalf("%s waits for memory that stalls", name)
	}
}

// awaitStuck waits until a goroutine has waited for a lock in vain.
func (s *stall) awaitStuck(m *mutex) {
	s.t.Helper()
	s.returns("lockWithin", func() {
		for !m.timedOut.Load() {
			runtime.Gosched()
		}
	})
}
