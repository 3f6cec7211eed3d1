package nic

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

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
