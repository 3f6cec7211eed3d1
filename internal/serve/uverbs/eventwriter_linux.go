package uverbs

import "sync"

// An eventWriter makes the system calls on the event files of one context, in a goroutine of its own. Each of them
// may wait for as long as the program likes, which can hold the lock of a pipe: it splices the pipe to a socket that
// is full, or reads it into memory whose faults it answers itself. Then only events of this program wait.
type eventWriter struct {
	wake chan struct{} // has room for one
	done chan struct{} // closed when the context begins to end

	mu sync.Mutex // guards what follows, and parts of the files. It is held for moments: pushes come under locks of the device
	// Files that have something to do, in the order in which they were entered.
	first, last *eventFile
	tasks       []func()
	over        bool // nothing is entered any more
}

// newEventWriter starts a writer, which stop ends. Then it calls ended.
func newEventWriter(done chan struct{}, ended func()) *eventWriter {
	w := &eventWriter{wake: make(chan struct{}, 1), done: done}
	go func() {
		w.run()
		ended()
	}()
	return w
}

// enter enters a file that has something to do, for which the caller rouses the goroutine. The lock is held.
func (w *eventWriter) enter(e *eventFile) {
	if e.ready {
		return
	}
	e.ready, e.next = true, nil
	if w.last == nil {
		w.first = e
	} else {
		w.last.next = e
	}
	w.last = e
}

// rouse wakes the goroutine.
func (w *eventWriter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default: // it has not woken for the last one yet
	}
}

// do has f called by the goroutine, or not at all if the context ends before.
func (w *eventWriter) do(f func()) {
	w.mu.Lock()
	w.tasks = append(w.tasks, f)
	w.mu.Unlock()
	w.rouse()
}

// stop ends the goroutine when it has closed the files that were closed before.
func (w *eventWriter) stop() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.rouse()
}

func (w *eventWriter) run() {
	b := make([]byte, 0, batch*max(compRecord, asyncRecord))
	for {
		task, e, over := w.take()
		switch {
		case task != nil:
			task()
		case e != nil:
			if e.flush(b) {
				w.again(e)
			}
		case over:
			return
		default:
			<-w.wake
		}
	}
}

// take returns what is to be done next, tasks first.
func (w *eventWriter) take() (task func(), e *eventFile, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.tasks) > 0 {
		task, w.tasks = w.tasks[0], w.tasks[1:]
		return task, nil, false
	}
	if e = w.first; e != nil {
		if w.first = e.next; w.first == nil {
			w.last = nil
		}
		e.ready, e.next = false, nil
	}
	return nil, e, w.over
}

// again enters a file that has more to write than one batch.
func (w *eventWriter) again(e *eventFile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.queue.len() > 0 && !e.full {
		w.enter(e)
	}
}
