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

// A parked call waits for something that may take long.
type parked struct {
	call        *Call
	queued      bool // it was not begun: it can be made again, but not fail; interrupted is unused
	interrupted func(error)
}

// waiting watches the callers of parked calls. The kernel has no event for a signal that
// becomes pending in another process, so it looks at /proc, at intervals.
type waiting struct {
	every time.Duration
	wake  chan struct{} // has room for one

	mu    sync.Mutex
	calls map[*parked]struct{}
	ended bool // no caller waits any more
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

// run looks at the callers every w.every while there are any. When done is closed all callers
// are gone.
func (w *waiting) run(done <-chan struct{}) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		list := w.list(false)
		for _, p := range list {
			w.look(p)
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

// list returns the parked calls; with end there will be no more.
func (w *waiting) list(end bool) []*parked {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = end
	return slices.Collect(maps.Keys(w.calls))
}

// look notifies p if its caller has a signal or is gone.
func (w *waiting) look(p *parked) {
	if !p.call.Valid() {
		w.notify(p, ErrGone)
		return
	}
	if v := interruption("/proc", p.call.TID()); v != mayWait && !(p.queued && v == mayFail) {
		p.call.verdict.Store(v)
		w.notify(p, ErrInterrupted)
	}
}

// notify tells the cause to the handler of p, once.
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

// A verdict is how a call may be interrupted.
type verdict = uint32

const (
	mayWait    verdict = iota // no signal
	mayRestart                // ERESTARTSYS: the kernel knows that this thread has a signal
	mayFail                   // EINTR: a signal is pending, but perhaps for another thread
)

// interruption returns how a blocked call of a thread may be interrupted. proc is /proc.
//
// ERESTARTSYS is only correct if the kernel marked this very thread (TIF_SIGPENDING); otherwise
// it leaks to the program. It did so for a signal to the thread; for a signal to the process if
// the thread is the leader or the only one that does not block the signal (complete_signal in
// kernel/signal.c prefers the leader); and for a stop of the process, which the state T of
// other threads shows. The mark stays until the thread returns from its call, so a verdict stays
// true.
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
		return mayWait // the leader takes it, or there is none
	}
	return othersBlock(task, tid, mine)
}

// stopped reports whether a stop of the process waits for this thread: others are in state T.
// It looks at 16 of them at most, so it may miss a stop if these wait for an answer too.
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

// othersBlock returns mayRestart if the threads in dir other than tid block the signals.
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

// signals is the part of /proc/PID/status that is about signals. Bit n-1 is signal n.
type signals struct {
	state                    byte
	tgid, threads            int
	thread, process, blocked uint64 // pending for the thread, for the process; blocked
}

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
	const kill = 1 << (unix.SIGKILL - 1) // ends the wait by itself: see ErrGone
	st.thread &^= kill
	st.process &^= kill
	return st, true
}
