package uverbs

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// hangups watches the write ends of pipes: it reports a pipe whose read end is closed and, where that was asked
// for, one that has room again. One thread waits for all of them, so what it calls must not wait for a program.
type hangups struct {
	epoll, stop int
	done        chan struct{}

	mu   sync.Mutex
	last uint64            // identifier, guarded by mu
	all  map[uint64]*watch // guarded by mu
}

// A watch is that of one pipe. Its identifier is never used again, but the number of its descriptor may be.
type watch struct {
	id           uint64 // 0 is that of the descriptor that ends the thread
	fd           int
	hungUp, room func()
}

func newHangups() (*hangups, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("uverbs: epoll: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	if err != nil {
		return nil, fmt.Errorf("uverbs: epoll: %w", err)
	}
	h := &hangups{epoll: epoll, stop: stop, done: make(chan struct{}), all: map[uint64]*watch{}}
	go h.run()
	return h, nil
}

// add calls hungUp once, when the read end of the pipe with the write end fd is closed, until remove; and room when
// there is room after awaitRoom.
func (h *hangups) add(fd int, hungUp, room func()) (*watch, error) {
	h.mu.Lock()
	h.last++
	w := &watch{h.last, fd, hungUp, room}
	h.all[w.id] = w
	h.mu.Unlock()
	if err := h.arm(unix.EPOLL_CTL_ADD, w, 0); err != nil {
		h.remove(w)
		return nil, fmt.Errorf("uverbs: epoll: %w", err)
	}
	return w, nil
}

// arm asks for one report: of the end of the readers, which is always reported, and of events.
func (h *hangups) arm(op int, w *watch, events uint32) error {
	return unix.EpollCtl(h.epoll, op, w.fd,
		&unix.EpollEvent{Events: unix.EPOLLONESHOT | events, Fd: int32(w.id), Pad: int32(w.id >> 32)})
}

// awaitRoom asks for a call of room. The descriptor is open.
func (h *hangups) awaitRoom(w *watch) error { return h.arm(unix.EPOLL_CTL_MOD, w, unix.EPOLLOUT) }

// awaitEnd is for room, when it is not to be called again. The descriptor is open.
func (h *hangups) awaitEnd(w *watch) error { return h.arm(unix.EPOLL_CTL_MOD, w, 0) }

// remove ends the reports of a pipe, whose descriptor is then closed. A call of its functions may be under way.
func (h *hangups) remove(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, w.id)
}

func (h *hangups) run() {
	defer close(h.done)
	var events [16]unix.EpollEvent
	for {
		n, err := unix.EpollWait(h.epoll, events[:], -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			id := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			if id == 0 {
				return
			}
			h.report(id, e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0)
		}
	}
}

func (h *hangups) report(id uint64, over bool) {
	h.mu.Lock()
	w := h.all[id]
	if over {
		delete(h.all, id)
	}
	h.mu.Unlock()
	switch {
	case w == nil:
	case over:
		w.hungUp()
	default:
		w.room()
	}
}

func (h *hangups) close() error {
	_, err := unix.Write(h.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-h.done
	return errors.Join(err, unix.Close(h.epoll), unix.Close(h.stop))
}
