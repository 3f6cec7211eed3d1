//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// pendingExecs tracks the threads that may be executing another program. A thread is in threads
// from its trapped execve until its next trapped call. An execve may block in the kernel for a long
// time if its paths and arguments are in memory that blocks. The other threads of the process keep
// running meanwhile.
type pendingExecs struct {
	mu      sync.Mutex
	threads map[int]struct{}
	pruneAt int // size of threads at which begin removes the threads that have ended
}

// minPruneAt is the minimum of pruneAt.
const minPruneAt = 1024

// begin records that tid is about to continue with an execve.
func (x *pendingExecs) begin(tid int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.threads == nil {
		x.threads, x.pruneAt = map[int]struct{}{}, minPruneAt
	}
	if len(x.threads) >= x.pruneAt {
		for t := range x.threads {
			if unix.Access(fmt.Sprintf("/proc/%d", t), unix.F_OK) == unix.ENOENT {
				delete(x.threads, t)
			}
		}
		x.pruneAt = max(minPruneAt, 2*len(x.threads))
	}
	x.threads[tid] = struct{}{}
}

// end records that tid has made another trapped call, so its execve has ended.
func (x *pendingExecs) end(tid int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.threads, tid)
}

// within reports whether a thread of process pid other than tid may be executing another program.
// It returns true if the threads of the process cannot be listed.
func (x *pendingExecs) within(pid, tid int) bool {
	x.mu.Lock()
	none := len(x.threads) == 0
	x.mu.Unlock()
	if none {
		return false
	}
	dir, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return true
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range names {
		t, err := strconv.Atoi(name)
		if _, is := x.threads[t]; err != nil || is && t != tid {
			return true
		}
	}
	return false
}

// Executing reports whether another thread of the caller's process may be executing another
// program. In that case [Handler.Exec] may have been called before this call arrived. A handler
// that records the caller's process before it calls Executing learns of each execve, either here
// or from Exec.
func (c *Call) Executing() bool { return c.s.pendingExecs.within(c.proc.PID, c.TID()) }
