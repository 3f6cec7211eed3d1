//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/gorxe/gorxe/internal/trap/keeper"
	"golang.org/x/sys/unix"
)

// maxThreads bounds the number of descriptors that procs keeps open.
const maxThreads = 256

// A thread is a known caller. dir is an O_PATH descriptor of /proc/TID. It is bound to the
// thread, so it never refers to a later thread with the same number.
type thread struct {
	dir  int
	proc ProcID
	refs int // number of users, plus 1 while the thread is in procs.threads; guarded by procs.mu
}

// procs finds the process and the descriptors of callers by thread ID, and watches processes for
// their end.
type procs struct {
	mu      sync.Mutex
	threads map[int]*thread
	watched map[ProcID]*os.File // pidfds
	closed  bool
	ends    sync.WaitGroup // goroutines of watch
}

// stat reads the attributes of descriptor fd of a caller, with the flags of fstatat, and returns
// the caller's process. ENOENT means that the descriptor is not open.
func (ps *procs) stat(c *Call, fd, flags int, st *unix.Stat_t) (id ProcID, err error) {
	name := "fd/" + strconv.Itoa(fd)
	err = ps.with(c, func(t *thread) error {
		id = t.proc
		return unix.Fstatat(t.dir, name, st, flags)
	})
	return id, err
}

// link returns the path of the file of a caller's descriptor fd, as seen by this process.
func (ps *procs) link(c *Call, fd int) (string, error) {
	name := "fd/" + strconv.Itoa(fd)
	var buf [maxPath]byte
	var n int
	err := ps.with(c, func(t *thread) (err error) {
		n, err = unix.Readlinkat(t.dir, name, buf[:])
		return err
	})
	return string(buf[:max(n, 0)]), err
}

// with calls f with the thread of c. If f fails because the known thread has ended, another thread
// now has that thread ID: with finds it and calls f once more.
func (ps *procs) with(c *Call, f func(*thread) error) error {
	tid := c.TID()
	ps.mu.Lock()
	t, known := ps.threads[tid]
	if known {
		t.refs++
	}
	ps.mu.Unlock()
	if known {
		err := f(t)
		same := err == nil || t.alive()
		if !same {
			ps.forget(tid, t)
		}
		ps.release(t)
		if same {
			return err
		}
	}
	t, err := openThread(tid)
	if err != nil {
		return err
	}
	if !c.Valid() { // otherwise t may be a later thread of that number
		_ = unix.Close(t.dir)
		return ErrGone
	}
	t.refs = 2
	ps.mu.Lock()
	if len(ps.threads) >= maxThreads {
		ps.drop()
	}
	if _, again := ps.threads[tid]; again || ps.closed {
		t.refs = 1
	} else {
		ps.threads[tid] = t
	}
	ps.mu.Unlock()
	err = f(t)
	ps.release(t)
	return err
}

// identify returns the process of a caller.
func (ps *procs) identify(c *Call) (id ProcID, err error) {
	err = ps.with(c, func(t *thread) error {
		id = t.proc
		if !t.alive() {
			return unix.ESRCH
		}
		return nil
	})
	return id, err
}

// alive reports whether the thread has not ended.
func (t *thread) alive() bool {
	var st unix.Stat_t
	return unix.Fstatat(t.dir, "fd", &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func (ps *procs) forget(tid int, t *thread) {
	ps.mu.Lock()
	there := ps.threads[tid] == t
	if there {
		delete(ps.threads, tid)
	}
	ps.mu.Unlock()
	if there {
		ps.release(t)
	}
}

func (ps *procs) release(t *thread) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.unref(t)
}

func (ps *procs) unref(t *thread) {
	if t.refs--; t.refs == 0 {
		_ = unix.Close(t.dir)
	}
}

// drop empties ps.threads. The caller holds ps.mu.
func (ps *procs) drop() {
	for _, t := range ps.threads {
		ps.unref(t)
	}
	clear(ps.threads)
}

func openThread(tid int) (*thread, error) {
	dir, err := unix.Open(fmt.Sprintf("/proc/%d", tid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	id, err := processOf(tid)
	if err != nil {
		_ = unix.Close(dir)
		return nil, err
	}
	return &thread{dir: dir, proc: id}, nil
}

// processOf returns the process of a thread.
func processOf(tid int) (ProcID, error) {
	st, ok := signalState(fmt.Sprintf("/proc/%d/status", tid))
	if !ok {
		return ProcID{}, unix.ESRCH
	}
	fields := keeper.StatFields(fmt.Sprintf("/proc/%d/stat", st.tgid))
	if len(fields) <= keeper.StatStart {
		return ProcID{}, unix.ESRCH
	}
	ticks, err := strconv.ParseUint(fields[keeper.StatStart], 10, 64)
	return ProcID{PID: st.tgid, Start: ticks}, err
}

// watch arranges that exit is called once after the end of the process c.proc of the caller.
func (ps *procs) watch(c *Call, exit func(ProcID)) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if _, known := ps.watched[c.proc]; known || ps.closed {
		return nil
	}
	fd, err := unix.PidfdOpen(c.proc.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	if !c.Valid() {
		_ = f.Close()
		return ErrGone
	}
	ps.watched[c.proc] = f
	ps.ends.Add(1)
	go func(id ProcID) {
		defer ps.ends.Done()
		ended := awaitExit(f)
		ps.mu.Lock()
		delete(ps.watched, id)
		ps.mu.Unlock()
		_ = f.Close()
		if ended {
			exit(id)
		}
	}(c.proc)
	return nil
}

// watches returns the process of a caller and whether it is watched. It returns a zero ProcID if
// no process is watched.
func (ps *procs) watches(c *Call) (ProcID, bool, error) {
	ps.mu.Lock()
	none := len(ps.watched) == 0
	ps.mu.Unlock()
	if none {
		return ProcID{}, false, nil
	}
	id, err := ps.identify(c)
	if err != nil {
		return ProcID{}, false, err
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	_, known := ps.watched[id]
	return id, known, nil
}

// awaitExit waits until the process of a pidfd has ended. It returns false if the pidfd is closed
// before that.
func awaitExit(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 && err == nil
	})
	return err == nil
}

// close ends all watches without a call of exit and closes all descriptors.
func (ps *procs) close() {
	ps.mu.Lock()
	ps.closed = true
	ps.drop()
	for _, f := range ps.watched {
		_ = f.Close()
	}
	ps.mu.Unlock()
	ps.ends.Wait()
}
