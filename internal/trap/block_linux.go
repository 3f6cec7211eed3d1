//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A parked call is a call that waits for an event or in the scheduler's queue.
type parked struct {
	call *Call
	// queued is true for a call in the scheduler's queue: no worker has begun to answer it. After a
	// signal the kernel may restart such a call, but it must not fail with EINTR.
	queued      bool
	interrupted func(error)
}

// waiting watches the callers of parked calls for signals. The kernel reports no event for a
// signal that becomes pending in another process, so waiting polls /proc.
type waiting struct {
	every time.Duration // interval of the polls
	wake  chan struct{} // capacity 1

	mu    sync.Mutex
	calls map[*parked]struct{}
	ended bool // the server has ended; add reports ErrGone
}

func (w *waiting) add(p *parked) {
	w.mu.Lock()
	w.calls[p] = struct{}{}
	ended := w.ended
	w.mu.Unlock()
	if ended {
		go w.notify(p, ErrGone)
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *waiting) remove(p *parked) {
	w.mu.Lock()
	delete(w.calls, p)
	w.mu.Unlock()
}

// run examines the callers every w.every while there are any. When done is closed, it reports
// ErrGone for all parked calls.
func (w *waiting) run(done <-chan struct{}) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		list := w.list(false)
		for _, p := range list {
			w.check(p)
		}
		next := tick.C
		if len(list) == 0 {
			next = nil
		}
		select {
		case <-done:
			for _, p := range w.list(true) {
				w.notify(p, ErrGone)
			}
			return
		case <-next:
		case <-w.wake:
		}
	}
}

// list returns the parked calls. If end is true, calls that are added later get ErrGone.
func (w *waiting) list(end bool) []*parked {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = end
	return slices.Collect(maps.Keys(w.calls))
}

// check notifies p if its caller has a pending signal or was killed.
func (w *waiting) check(p *parked) {
	if !p.call.Valid() {
		w.notify(p, ErrGone)
		return
	}
	if v := interruption("/proc", p.call.TID()); v != mayWait && !(p.queued && v == mayFail) {
		p.call.verdict.Store(v)
		w.notify(p, ErrInterrupted)
	}
}

// notify reports cause to the handler of p, at most once.
func (w *waiting) notify(p *parked, cause error) {
	w.mu.Lock()
	_, there := w.calls[p]
	delete(w.calls, p)
	w.mu.Unlock()
	switch {
	case !there || p.call.answered.Load():
	case p.queued:
		p.call.s.unqueue(p.call, cause)
	default:
		p.interrupted(cause)
	}
}

// A verdict tells how a call of a thread may be interrupted.
type verdict = uint32

const (
	mayWait    verdict = iota // not at all: the thread has no signal to handle
	mayRestart                // with ERESTARTSYS: the kernel has marked this thread
	mayFail                   // with EINTR: a signal is pending, but possibly for another thread
)

// interruption returns how a blocked call of the thread tid may be interrupted. proc is the path
// of /proc.
//
// ERESTARTSYS is correct only if the kernel has marked this very thread (TIF_SIGPENDING); otherwise
// the program sees ERESTARTSYS as an errno. The kernel marks a thread in three cases: the signal is
// for the thread; the signal is for the process, and the thread is the leader or the only one that
// does not block it (complete_signal in kernel/signal.c prefers the leader); the process is being
// stopped, which the state T of other threads shows. The mark stays until the thread returns from
// its call, so a verdict stays valid.
func interruption(proc string, tid int) verdict {
	st, ok := signalState(fmt.Sprintf("%s/%d/status", proc, tid))
	switch {
	case !ok:
		return mayWait
	case st.thread&^st.blocked != 0:
		return mayRestart
	case st.threads == 1 || tid == st.tgid:
		if st.process&^st.blocked != 0 {
			return mayRestart
		}
	}
	task := fmt.Sprintf("%s/%d/task", proc, st.tgid)
	switch {
	case st.threads == 1:
		return mayWait
	case stopped(task, tid):
		return mayRestart
	case tid == st.tgid:
		return mayWait
	}
	leader, ok := signalState(fmt.Sprintf("%s/%d/status", proc, st.tgid))
	mine := st.process &^ st.blocked
	if !ok || mine&leader.blocked == 0 {
		return mayWait // the leader takes the signal, or none is pending
	}
	return othersBlock(task, tid, mine)
}

// stopped reports whether a process is being stopped, that is, a thread other than tid is in state
// T. dir is the directory /proc/PID/task. stopped examines at most 16 threads, so it misses a stop
// if all of these wait for an answer.
func stopped(dir string, tid int) bool {
	threads, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range threads[:min(len(threads), 16)] {
		if e.Name() == strconv.Itoa(tid) {
			continue
		}
		if st, ok := signalState(dir + "/" + e.Name() + "/status"); ok && st.state == 'T' {
			return true
		}
	}
	return false
}

// othersBlock returns mayRestart if all threads other than tid block the signals, mayFail if one
// does not, and mayWait if dir, the directory /proc/PID/task, cannot be read.
func othersBlock(dir string, tid int, signals uint64) verdict {
	threads, err := os.ReadDir(dir)
	if err != nil {
		return mayWait
	}
	for _, e := range threads {
		if e.Name() == strconv.Itoa(tid) {
			continue
		}
		st, ok := signalState(dir + "/" + e.Name() + "/status")
		if ok && signals&^st.blocked != 0 {
			return mayFail
		}
	}
	return mayRestart
}

// signals holds the signal fields of /proc/PID/status. Bit n-1 is signal n.
type signals struct {
	state                    byte
	tgid, threads            int
	thread, process, blocked uint64 // pending for the thread, pending for the process, blocked
}

// signalState reads the file status of a thread. It returns false if the thread has ended.
func signalState(path string) (signals, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return signals{}, false
	}
	var st signals
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		v := string(bytes.TrimSpace(value))
		switch string(name) {
		case "State":
			st.state = v[0]
		case "Tgid":
			st.tgid, _ = strconv.Atoi(v)
		case "Threads":
			st.threads, _ = strconv.Atoi(v)
		case "SigPnd":
			st.thread, _ = strconv.ParseUint(v, 16, 64)
		case "ShdPnd":
			st.process, _ = strconv.ParseUint(v, 16, 64)
		case "SigBlk":
			st.blocked, _ = strconv.ParseUint(v, 16, 64)
		}
	}
	const kill = 1 << (unix.SIGKILL - 1) // not an interruption: SIGKILL ends the wait with ErrGone
	st.thread &^= kill
	st.process &^= kill
	return st, true
}
