//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// maxThreadGroups bounds the size of threadGroups.known.
const maxThreadGroups = 4096

// threadGroups finds the thread group IDs of callers, usually with one short system call.
type threadGroups struct {
	mu    sync.Mutex
	known map[int]int // thread group IDs by thread ID, without leaders; some threads may have ended
}

// of returns the thread group ID of a thread, 0 if the thread has ended.
func (t *threadGroups) of(tid int) int {
	t.mu.Lock()
	id, known := t.known[tid]
	t.mu.Unlock()
	if !known {
		id = tid
	}
	if inGroup(id, tid) {
		return id
	}
	st, ok := signalState(fmt.Sprintf("/proc/%d/status", tid))
	if !ok {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxThreadGroups {
		t.known = map[int]int{}
	}
	t.known[tid] = st.tgid
	return st.tgid
}

// inGroup reports whether a thread is in the thread group id: tgkill checks that first.
func inGroup(id, tid int) bool { return unix.Tgkill(id, tid, 0) != unix.ESRCH }

// processLocks holds one lock for each process, by thread group ID.
type processLocks struct {
	mu    sync.Mutex
	locks map[int]*processLock
}

type processLock struct {
	sync.Mutex
	users int // goroutines that hold the lock or wait for it; guarded by processLocks.mu
}

// lock acquires the lock of a process. unlock releases it.
func (p *processLocks) lock(id int) (unlock func()) {
	p.mu.Lock()
	if p.locks == nil {
		p.locks = map[int]*processLock{}
	}
	l := p.locks[id]
	if l == nil {
		l = &processLock{}
		p.locks[id] = l
	}
	l.users++
	p.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(p.locks, id)
		}
	}
}
