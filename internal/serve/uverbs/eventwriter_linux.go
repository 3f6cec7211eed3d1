package uverbs

import "sync"

// An eventWriter makes the system calls on the event files of one context, in its own goroutine.
// Each call may block for as long as the program wants, because the program can hold the lock of a
// pipe: it can splice the pipe to a full socket, or read from the pipe into memory whose page
// faults it handles itself. Only events of this program are then delayed.
type eventWriter struct {
	wake chan struct{} // capacity 1
	done chan struct{} // closed when the context starts to end

	// mu guards the following fields, those of each eventFile that say so, and source.queued. It is
	// held only briefly, because pushes run under locks of the device.
	mu sync.Mutex
	// List of the files for which flush is to be called, linked by eventFile.next.
	first, last *eventFile
	tasks       []func() // functions that do has added
	stopped     bool     // stop was called
}

// newEventWriter starts a writer. After stop, the writer ends and calls ended.
func newEventWriter(done chan struct{}, ended func()) *eventWriter {
	w := &eventWriter{wake: make(chan struct{}, 1), done: done}
	go func() {
		w.run()
		ended()
	}()
	return w
}

// addPending requests a call of e.flush; the caller then calls rouse. The caller holds the lock.
func (w *eventWriter) addPending(e *eventFile) {
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
	default: // an earlier wake-up is pending
	}
}

// do makes the goroutine call f, unless the context ends first.
func (w *eventWriter) do(f func()) {
	w.mu.Lock()
	w.tasks = append(w.tasks, f)
	w.mu.Unlock()
	w.rouse()
}

// stop makes the goroutine end after it has closed the files for which eventFile.close was called.
func (w *eventWriter) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.rouse()
}

func (w *eventWriter) run() {
	b := make([]byte, 0, batch*max(compRecord, asyncRecord))
	for {
		task, e, stopped := w.take()
		switch {
		case task != nil:
			task()
		case e != nil:
			if e.flush(b) {
				w.requeue(e)
			}
		case stopped:
			return
		default:
			<-w.wake
		}
	}
}

// take returns the next task or, without a task, the next file to flush. stopped is true after
// stop.
func (w *eventWriter) take() (task func(), e *eventFile, stopped bool) {
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
	return nil, e, w.stopped
}

// requeue adds a file that has more to write than one batch.
func (w *eventWriter) requeue(e *eventFile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.queue.len() > 0 && !e.full {
		w.addPending(e)
	}
}
