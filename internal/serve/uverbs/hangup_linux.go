package uverbs

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// hangups reports pipes whose read end is closed. One thread waits for all of them.
type hangups struct {
	epoll, stop int
	done        chan struct{}

	mu  sync.Mutex
	all map[int32]func() // by write end
}

func newHangups() (*hangups, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("uverbs: epoll: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, stop, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(stop)})
	}
	if err != nil {
		return nil, fmt.Errorf("uverbs: epoll: %w", err)
	}
	h := &hangups{epoll: epoll, stop: stop, done: make(chan struct{}), all: map[int32]func(){}}
	go h.run()
	return h, nil
}

// add calls f once, when the read end of the pipe with the write end fd is closed, until remove.
func (h *hangups) add(fd int, f func()) error {
	h.mu.Lock()
	h.all[int32(fd)] = f
	h.mu.Unlock()
	// EPOLLERR is always reported.
	if err := unix.EpollCtl(h.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("uverbs: epoll: %w", err)
	}
	return nil
}

// remove ends the reports of fd, which is still open. A call of its function may be under way.
func (h *hangups) remove(fd int) {
	h.mu.Lock()
	delete(h.all, int32(fd))
	h.mu.Unlock()
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
			if e.Fd == int32(h.stop) {
				return
			}
			h.mu.Lock()
			f := h.all[e.Fd]
			delete(h.all, e.Fd)
			h.mu.Unlock()
			if f != nil {
				f()
			}
		}
	}
}

func (h *hangups) close() error {
	_, err := unix.Write(h.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-h.done
	return errors.Join(err, unix.Close(h.epoll), unix.Close(h.stop))
}
