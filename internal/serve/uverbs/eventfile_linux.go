package uverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/gorxe/gorxe/internal/host/hangup"
	"github.com/gorxe/gorxe/qp"
	"golang.org/x/sys/unix"
)

// A source is an object that raises events. When a program destroys the object, libibverbs waits
// until the program has acknowledged as many events as the response reports. So the response must
// report the events that the program has read, and no others.
type source struct {
	handle uint64 // user_handle

	// queued is the number of records, by kind, that are not in the pipe yet. The eventWriter's
	// lock guards it.
	queued [qp.NumEventTypes]uint32
	// Used only by the writer's goroutine.
	unread [qp.NumEventTypes]uint32 // records by kind that are in the pipe, as far as known
	read   uint32                   // events that the program has read
}

// A record is an event. kind is the type of an asynchronous event, 0 in a completion channel.
type record struct {
	from *source
	kind qp.EventType
}

// maxUnread limits the unread records in the pipe of an event file and, separately, the records
// that wait for the pipe: from this number on, redundant records are dropped. A record is redundant
// if the program has not yet read an equal record. Further records are therefore limited by the
// number of the program's objects. The kernel has no such limit. But a completion queue has one
// event per notification request, and a program that makes a thousand requests without reading an
// event does not count events.
const maxUnread = 1024

// eventFile is a file from which a program reads records of fixed size: a completion channel or
// the asynchronous events. It is a pipe, so that the program can poll it, and unread records can
// be counted and withdrawn. Its eventWriter makes all system calls on it.
type eventFile struct {
	writer *eventWriter
	size   int // of a record, in bytes

	// Guarded by the writer's lock.
	queue    fifo // records that are not in the pipe
	full     bool // the pipe is full; resume is called when it has space again
	reported bool // watch has reported space, and reports nothing until it is armed again
	ended    bool
	watch    *hangup.Watch // nil if there is none
	ready    bool          // in the list of the writer
	next     *eventFile    // next in that list

	// Used only by the writer's goroutine. fd does not change before close.
	fd     int  // write end, non-blocking, -1 once closed; the program has the only read end
	unread fifo // records written to the pipe; the program may have read some of them
}

// newEventFile returns a file with records of size bytes, and the end for the program.
func newEventFile(w *eventWriter, size int) (*eventFile, *os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("uverbs: an event file: %w", err)
	}
	// Only this end must be non-blocking: the program chooses the mode of its end.
	if err := unix.SetNonblock(p[1], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(p[0]), unix.Close(p[1]))
	}
	return &eventFile{writer: w, size: size, fd: p[1]}, os.NewFile(uintptr(p[0]), "events"), nil
}

// push queues a record, which is written soon. It is called under locks of the device and makes
// no system call.
func (e *eventFile) push(r record) {
	w := e.writer
	w.mu.Lock()
	if e.ended || e.queue.len() >= maxUnread && r.from.queued[r.kind] > 0 {
		w.mu.Unlock()
		return
	}
	e.queue.push(r)
	r.from.queued[r.kind]++
	w.addPending(e)
	w.mu.Unlock()
	w.rouse()
}

// resume continues writing when the pipe has space again.
func (e *eventFile) resume() {
	w := e.writer
	w.mu.Lock()
	e.full, e.reported = false, true
	w.addPending(e)
	w.mu.Unlock()
	w.rouse()
}

// onHangup calls f once, when the program has closed its end. f may close the file.
func (e *eventFile) onHangup(h *hangup.Watcher, f func()) error {
	watch, err := h.Add(e.fd, f, e.resume)
	e.writer.mu.Lock()
	defer e.writer.mu.Unlock()
	e.watch = watch
	return err
}

// close ends the file. The writer closes its descriptor, which the program can delay.
func (e *eventFile) close() {
	w := e.writer
	w.mu.Lock()
	e.ended = true
	w.addPending(e)
	w.mu.Unlock()
	w.rouse()
}

// Ended reports whether the file is closed at this end, so that it delivers no more records. See
// [Caller.Install].
func (e *eventFile) Ended() bool {
	w := e.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.ended
}

// withdraw removes the records of a source that the program has not read, and returns the number
// that it has read; 0 if the context ends before that is known.
func (e *eventFile) withdraw(s *source) uint32 {
	read := make(chan uint32, 1)
	e.writer.do(func() { read <- e.remove(s) })
	select {
	case n := <-read:
		return n
	case <-e.writer.done:
		return 0
	}
}

// The writer's goroutine calls the following functions.

// batch is the number of records that are written at once. They are shorter than PIPE_BUF bytes,
// so all or none are written.
const batch = 64

// flush writes a batch of queued records, using b as buffer, and reports whether there may be
// more to write now.
func (e *eventFile) flush(b []byte) (more bool) {
	w := e.writer
	var all [batch]record
	w.mu.Lock()
	if e.ended {
		w.mu.Unlock()
		e.end()
		return false
	}
	n := 0
	for ; n < batch && !e.full && e.queue.len() > 0; n++ {
		all[n] = e.queue.pop()
		// From now on, an equal record is not redundant: the program may read this record before
		// the event of that one happens.
		all[n].from.queued[all[n].kind]--
	}
	idle := n == 0 && e.reported
	w.mu.Unlock()
	switch {
	case idle:
		e.await(false)
	case n > 0:
		return e.write(b, e.keep(all[:n]))
	}
	return false
}

// keep returns the records without the redundant ones; see maxUnread.
func (e *eventFile) keep(all []record) []record {
	if e.unread.len()+len(all) <= maxUnread {
		return all
	}
	e.settle()
	kept := all[:0]
	for _, r := range all {
		if e.unread.len()+len(kept) < maxUnread || r.from.unread[r.kind] == 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// write writes records, using b as buffer. If the pipe is full, it queues them again and returns
// false.
func (e *eventFile) write(b []byte, all []record) bool {
	if len(all) == 0 {
		return true
	}
	b = b[:0]
	for _, r := range all {
		b = binary.NativeEndian.AppendUint64(b, r.from.handle)
		if e.size > 8 {
			b = binary.NativeEndian.AppendUint64(b, uint64(r.kind)) // element, event_type, reserved
		}
	}
	n, err := unix.Write(e.fd, b)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Write(e.fd, b)
	}
	if errors.Is(err, unix.EAGAIN) {
		e.unqueue(all)
		e.await(true)
		return false
	}
	// Any other error means that the program has closed its end.
	for _, r := range all[:max(n, 0)/e.size] {
		e.unread.push(r)
		r.from.unread[r.kind]++
	}
	return true
}

// unqueue returns records to the front of the queue.
func (e *eventFile) unqueue(all []record) {
	w := e.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(all) - 1; i >= 0; i-- {
		e.queue.pushFront(all[i])
		all[i].from.queued[all[i].kind]++
	}
}

// await requests a call of resume when the pipe has space, if room is true, and otherwise cancels
// the request.
func (e *eventFile) await(room bool) {
	w := e.writer
	w.mu.Lock()
	watch, ended := e.watch, e.ended
	e.full, e.reported = room && watch != nil, false
	w.mu.Unlock()
	switch {
	case watch == nil || ended:
	case !room:
		// An error cannot be reported; the context then ends with its process.
		_ = watch.AwaitEnd()
	case watch.AwaitRoom() != nil: // the next record tries again
		w.mu.Lock()
		e.full = false
		w.mu.Unlock()
	}
}

// settle counts the records that the program has read since the last call.
func (e *eventFile) settle() {
	if n, err := unix.IoctlGetInt(e.fd, unix.TIOCINQ); err == nil {
		e.countRead(n / e.size)
	}
}

// countRead counts all records except the newest n as read.
func (e *eventFile) countRead(n int) {
	for e.unread.len() > n {
		r := e.unread.pop()
		r.from.unread[r.kind]--
		r.from.read++
	}
}

// remove implements withdraw in the writer's goroutine.
func (e *eventFile) remove(s *source) (read uint32) {
	w := e.writer
	w.mu.Lock()
	e.queue.remove(s)
	clear(s.queued[:])
	w.mu.Unlock()
	if e.fd < 0 {
		return s.read
	}
	e.settle()
	if s.unread == [qp.NumEventTypes]uint32{} {
		return s.read
	}
	// The pipe is emptied, and the records of other sources are written again. A program that
	// reads meanwhile gets a record or finds none, as before.
	taken, err := e.drain()
	if err != nil {
		return s.read
	}
	e.countRead(taken)
	e.unread.remove(s)
	clear(s.unread[:])
	var others []record
	for e.unread.len() > 0 {
		r := e.unread.pop()
		r.from.unread[r.kind]--
		others = append(others, r)
	}
	e.unqueue(others)
	e.await(false) // there is space
	w.mu.Lock()
	w.addPending(e)
	w.mu.Unlock()
	return s.read
}

// drain empties the pipe and returns the number of records in it.
func (e *eventFile) drain() (n int, err error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", e.fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096/e.size*e.size)
	for {
		got, err := unix.Read(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || got == 0:
			return n, nil
		default:
			n += got / e.size
		}
	}
}

// end closes the descriptor after close.
func (e *eventFile) end() {
	if e.fd < 0 {
		return
	}
	w := e.writer
	w.mu.Lock()
	watch := e.watch
	e.queue = fifo{}
	w.mu.Unlock()
	if watch != nil {
		watch.Remove()
	}
	_ = unix.Close(e.fd) // cannot fail: it is open
	e.fd, e.unread = -1, fifo{}
}
