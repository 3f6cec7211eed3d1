package uverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorxe/gorxe/internal/host/hangup"
	"golang.org/x/sys/unix"
)

// A source is an object that makes events. Programs wait in its destruction until they have acknowledged as many events as
// the kernel reports to have handed out, so only events that were read count.
type source struct {
	handle uint64 // user_handle
	read   uint32 // events that the program has read
}

// eventFile is a file from which a program reads fixed records: a completion channel or the asynchronous events. It is a
// pipe, so the program can poll it, and the unread records can be counted and withdrawn. The lock of the context guards it,
// except pushes, which have one of their own.
type eventFile struct {
	size int
	fd   int // write end, not blocking; the program has the only read end

	watch *hangup.Watch // nil: none

	lock    chan struct{} // holds one token; a channel, because pushes come under locks of the device
	unread  []record      // written to the pipe and perhaps read meanwhile, oldest first
	waiting []record      // for room in the pipe, each once: a program that reads none bounds them by its objects
}

type record struct {
	from *source
	kind uint32 // of an asynchronous event
}

// pipeRoom is the size of the pipe in bytes, where the system permits it.
const pipeRoom = 1 << 20

// newEventFile returns a file with records of size bytes, and the end for the program.
func newEventFile(size int) (*eventFile, *os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("uverbs: an event file: %w", err)
	}
	// Only our end must not block: the program chooses for its own.
	if err := unix.SetNonblock(p[1], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(p[0]), unix.Close(p[1]))
	}
	// A smaller pipe does as well.
	_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, pipeRoom)
	e := &eventFile{size: size, fd: p[1], lock: make(chan struct{}, 1)}
	return e, os.NewFile(uintptr(p[0]), "events"), nil
}

// push adds a record, for which an equal one that still waits for room stands too. It does not block.
func (e *eventFile) push(r record) {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	if e.fd < 0 || slices.Contains(e.waiting, r) {
		return
	}
	e.waiting = append(e.waiting, r)
	e.flush()
}

// resume goes on when the pipe has room again.
func (e *eventFile) resume() {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	if e.fd < 0 {
		return
	}
	if e.flush(); len(e.waiting) == 0 {
		// An error cannot be reported; the context then ends with its process.
		_ = e.watch.AwaitEnd()
	}
}

// flush writes what waits, as far as there is room, and asks for a call of resume for the rest.
func (e *eventFile) flush() {
	for len(e.waiting) > 0 {
		r := e.waiting[0]
		b := make([]byte, e.size)
		binary.NativeEndian.PutUint64(b, r.from.handle)
		if e.size > 8 {
			binary.NativeEndian.PutUint32(b[8:], r.kind)
		}
		n, err := unix.Write(e.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			if e.watch != nil {
				_ = e.watch.AwaitRoom() // with an error the next record tries again
			}
			return
		case err != nil || n != e.size: // the program has closed its end
			e.waiting = nil
			return
		}
		e.waiting = e.waiting[1:]
		e.unread = append(e.unread, r)
	}
}

// settle counts what the program has read since the last call.
func (e *eventFile) settle() {
	n, err := unix.IoctlGetInt(e.fd, unix.TIOCINQ)
	if err != nil {
		return
	}
	for len(e.unread) > n/e.size {
		e.unread[0].from.read++
		e.unread = e.unread[1:]
	}
}

// withdraw removes the records of a source that the program has not read, and returns how many it has.
func (e *eventFile) withdraw(s *source) (read uint32) {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	e.waiting = without(e.waiting, s)
	e.settle()
	if len(without(e.unread, s)) == len(e.unread) {
		return s.read
	}
	// What is in the pipe is taken out, and the records of others are put back. A program that reads meanwhile gets a
	// record or finds none, as before.
	taken, err := e.drain()
	if err != nil {
		return s.read
	}
	for len(e.unread) > taken {
		e.unread[0].from.read++
		e.unread = e.unread[1:]
	}
	e.waiting = append(without(e.unread, s), e.waiting...)
	e.unread = nil
	e.flush()
	return s.read
}

func without(all []record, s *source) (out []record) {
	for _, r := range all {
		if r.from != s {
			out = append(out, r)
		}
	}
	return out
}

// drain empties the pipe and returns the number of records it had.
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

func (e *eventFile) close() error {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	if e.fd < 0 {
		return nil
	}
	if e.watch != nil {
		e.watch.Remove()
	}
	err := unix.Close(e.fd)
	e.fd, e.waiting, e.unread = -1, nil, nil
	return err
}

// Ended reports whether the file is closed on this side: nothing comes from it any more. See [Caller.Install].
func (e *eventFile) Ended() bool {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	return e.fd < 0
}

// onHangup calls f once, when the program has closed its end. f may close the file.
func (e *eventFile) onHangup(w *hangup.Watcher, f func()) (err error) {
	e.lock <- struct{}{} // resume may be called at once
	defer func() { <-e.lock }()
	e.watch, err = w.Add(e.fd, f, e.resume)
	return err
}
