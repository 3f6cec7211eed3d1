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

// lockKeys lets nothing look keys up or change them, so that a key can be taken away.
func (d *Device) lockKeys() {
	d.lockAll()
	d.changing.Lock()
}

func (d *Device) unlockKeys() {
	d.changing.Unlock()
	d.unlockAll()
}

// Register enters memory into the key table; see [mr.Table.Register]. No shard waits for that.
func (d *Device) Register(pd *mr.PD, mem mr.Memory, iova, length uint64, access mr.Access) (*mr.Region, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.Register(pd, mem, iova, length, access)
}

// Reregister changes a region; see [mr.Table.Reregister]. When it returns nothing reads or
// writes through the former region any more.
func (d *Device) Reregister(r *mr.Region, q *mr.Rereg) (*mr.Region, error) {
	d.lockKeys()
	defer d.unlockKeys()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.Reregister(r, q)
}

// Deregister takes a region out of the key table. When it returns nothing reads or writes
// its memory any more: work that still names it ends in an error.
func (d *Device) Deregister(r *mr.Region) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.Deregister(r)
}

// AllocWindow makes a memory window; see [mr.Table.AllocWindow].
func (d *Device) AllocWindow(pd *mr.PD, typ mr.WindowType) (*mr.Window, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.AllocWindow(pd, typ)
}

// DeallocWindow ends a memory window. When it returns no peer reaches memory through it.
func (d *Device) DeallocWindow(w *mr.Window) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.DeallocWindow(w)
}

// WindowKey is the key the window has now, and whether it opens memory.
func (d *Device) WindowKey(w *mr.Window) (key uint32, bound bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return w.RKey(), w.Bound()
}

// AllocFast makes a fast region; see [mr.Table.AllocFast].
func (d *Device) AllocFast(pd *mr.PD, max uint64) (*mr.FastRegion, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.AllocFast(pd, max)
}

// FreeFast ends a fast region. When it returns nothing reaches memory through it.
func (d *Device) FreeFast(f *mr.FastRegion) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.FreeFast(f)
}

// FastKey is the key the fast region has now, and whether it leads to memory.
func (d *Device) FastKey(f *mr.FastRegion) (key uint32, registered bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return f.Key(), f.Registered()
}

// PostBind posts wr, which binds w under the next key in turn, and returns that key. Binds
// of the same window that the queue has not come to are counted in.
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

// Memory of a program can stall: a page of a file system in user space is there when that system
// says so, and the goroutine that copies holds the lock of a shard meanwhile. A caller that would
// make others wait, or that nobody may keep waiting, therefore waits for such a lock for some time
// only.

// Without memory that stalls a lock is held for about a millisecond, and longer if the host is
// short of processors.
const (
	// dataPatience is for how long the data path waits, and calls that hold locks of other shards
	// meanwhile.
	dataPatience = 100 * time.Millisecond
	// lookPatience is for how long a look at the device waits, which tells less than there is if it
	// gives up.
	lookPatience = time.Second
	// lockTries is how often lockWithin tries before it goes to sleep, which costs it two goroutine
	// switches.
	lockTries = 64
)

// mutex is a sync.Mutex with lockWithin.
type mutex struct {
	sync.Mutex
	stuck atomic.Bool // a lockWithin was in vain, and nothing has had the lock since
}

// lockWithin takes the lock and returns true, or returns false if that takes longer than patience.
// While it has done so and nothing has had the lock since, it does not wait at all.
func (m *mutex) lockWithin(patience time.Duration) bool {
	for range lockTries {
		switch {
		case m.TryLock():
			return true
		case m.stuck.Load():
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
		m.stuck.Store(false)
		m.Unlock()
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-got:
		return true
	case <-late.C:
	}
	m.stuck.Store(true) // before the goroutine can store false
	if state.CompareAndSwap(0, given) {
		return false
	}
	<-got
	m.stuck.Store(false)
	return true
}

// await returns when the lock was free for a moment.
func (m *mutex) await() {
	m.Lock()
	defer m.Unlock()
}
