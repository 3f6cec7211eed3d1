package nic

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// lockKeys excludes lookups and changes of keys, so that a key can be removed.
func (d *Device) lockKeys() {
	d.lockAll()
	d.changing.Lock()
}

func (d *Device) unlockKeys() {
	d.changing.Unlock()
	d.unlockAll()
}

// Register adds memory to the key table; see [mr.Table.Register]. It delays no shard.
func (d *Device) Register(pd *mr.PD, mem mr.Memory, iova, length uint64, access mr.Access) (*mr.Region, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.Register(pd, mem, iova, length, access)
}

// Reregister changes a region; see [mr.Table.Reregister]. When it returns, nothing accesses
// memory through the former region any more.
func (d *Device) Reregister(r *mr.Region, q *mr.Rereg) (*mr.Region, error) {
	d.lockKeys()
	defer d.unlockKeys()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.Reregister(r, q)
}

// Deregister removes a region from the key table. When it returns, nothing accesses its memory
// any more: work that refers to it ends in an error.
func (d *Device) Deregister(r *mr.Region) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.Deregister(r)
}

// AllocWindow allocates a memory window; see [mr.Table.AllocWindow].
func (d *Device) AllocWindow(pd *mr.PD, typ mr.WindowType) (*mr.Window, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.AllocWindow(pd, typ)
}

// DeallocWindow deallocates a memory window. When it returns, no peer can access memory through
// it.
func (d *Device) DeallocWindow(w *mr.Window) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.DeallocWindow(w)
}

// WindowKey returns the window's current key and whether the window is bound.
func (d *Device) WindowKey(w *mr.Window) (key uint32, bound bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return w.RKey(), w.Bound()
}

// AllocFast allocates a fast-registration memory region; see [mr.Table.AllocFast].
func (d *Device) AllocFast(pd *mr.PD, max uint64) (*mr.FastRegion, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.AllocFast(pd, max)
}

// FreeFast frees a fast-registration memory region. When it returns, nothing accesses memory
// through it.
func (d *Device) FreeFast(f *mr.FastRegion) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.FreeFast(f)
}

// FastKey returns the fast-registration memory region's current key and whether memory is
// registered under it.
func (d *Device) FastKey(f *mr.FastRegion) (key uint32, registered bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return f.Key(), f.Registered()
}

// PostBind posts wr, which binds the type 1 window w under its next key, and returns that key. If
// binds of the window are queued and not started, the key is the one after theirs.
func (q *QP) PostBind(w *mr.Window, wr *qp.SendWR) (key uint32, err error) {
	s := q.shard
	s.lock()
	defer s.unlock()
	if w.Type() != mr.WindowType1 {
		return 0, fmt.Errorf("memory window %#08x is of type 2: bind it with a WRBindMW work request", w.RKey())
	}
	wr.Bind.Key = w.RKey()
	sq := q.attr.SQ
	for i := sq.Head(); i != sq.Tail(); i++ {
		if e := sq.At(i); e.Opcode == qp.WRBindMW && !e.Started && e.Local.Bind.Key == wr.Bind.Key {
			wr.Bind.Key = e.Local.Bind.NewKey
		}
	}
	wr.Bind.NewKey = mr.IncRKey(wr.Bind.Key)
	if _, err := q.postSend([]*qp.SendWR{wr}); err != nil {
		return 0, err
	}
	return wr.Bind.NewKey, nil
}

// A program's memory can stall: reading a page of a FUSE file takes as long as that file system
// likes, and the goroutine that copies holds the lock of a shard meanwhile. A caller that would
// delay others, or that must not be delayed for long, therefore waits for such a lock for a
// limited time only.

// If no memory stalls, a lock is held for about a millisecond, and longer if the host is short of
// processors.
const (
	// dataLockTimeout limits the wait of the data path, and of calls that hold locks of other
	// shards.
	dataLockTimeout = 100 * time.Millisecond
	// queryLockTimeout limits the wait of a query of the device, which then returns incomplete
	// data.
	queryLockTimeout = time.Second
	// lockTries is the number of times that lockWithin tries to lock before it starts a goroutine
	// that waits, which costs two goroutine switches.
	lockTries = 64
)

// mutex is a sync.Mutex that can be locked with a time limit.
type mutex struct {
	sync.Mutex
	timedOut atomic.Bool // a lockWithin timed out, and its goroutine still waits for the lock
}

// lockWithin locks m and returns true, or returns false if that takes longer than limit. After a
// timeout, further calls that find m locked return false without waiting, until the goroutine that
// the first call started has had the lock.
func (m *mutex) lockWithin(limit time.Duration) bool {
	for range lockTries {
		switch {
		case m.TryLock():
			return true
		case m.timedOut.Load():
			return false
		}
		runtime.Gosched()
	}
	const taken, given = 1, 2
	var state atomic.Int32
	got := make(chan struct{})
	go func() {
		m.Lock()
		if state.CompareAndSwap(0, taken) {
			close(got)
			return
		}
		m.timedOut.Store(false)
		m.Unlock()
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-got:
		return true
	case <-late.C:
	}
	m.timedOut.Store(true) // before the goroutine can store false
	if state.CompareAndSwap(0, given) {
		return false
	}
	<-got
	m.timedOut.Store(false)
	return true
}

// await waits until m is free, without keeping it locked.
func (m *mutex) await() {
	m.Lock()
	defer m.Unlock()
}
