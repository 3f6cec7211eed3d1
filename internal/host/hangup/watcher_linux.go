package hangup

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// A Watcher reports pipes whose read ends are closed. One thread waits for all of them. Its methods are safe for
// concurrent use.
type Watcher struct {
	epoll, stop int
	done        chan struct{}

	mu   sync.Mutex
	last uint64            // token of the latest pipe; none comes twice, as descriptors do
	all  map[uint64]func() // by token
}

// New returns a watcher without pipes.
func New() (*Watcher, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("hangup: epoll: %w", err)
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hangup: eventfd: %w", err), unix.Close(epoll))
	}
	w := &Watcher{epoll: epoll, stop: stop, done: make(chan struct{}), all: map[uint64]func(){}}
	if err := w.watch(stop, unix.EPOLLIN, stopToken); err != nil {
		return nil, errors.Join(err, unix.Close(epoll), unix.Close(stop))
	}
	go w.run()
	return w, nil
}

// stopToken is that of the eventfd.
const stopToken = 0

func (w *Watcher) watch(fd int, events uint32, token uint64) error {
	e := &unix.EpollEvent{Events: events, Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, e); err != nil {
		return fmt.Errorf("hangup: epoll: %w", err)
	}
	return nil
}

// Add calls f once, in the goroutine of the watcher, when the read end of the pipe with the write end fd is closed. f
// must not wait. remove ends that and is called before fd is closed; a call of f may be under way then.
func (w *Watcher) Add(fd int, f func()) (remove func(), err error) {
	w.mu.Lock()
	w.last++
	token := w.last
	w.all[token] = f
	w.mu.Unlock()
	remove = func() { w.take(token) }
	// EPOLLERR is always reported.
	if err := w.watch(fd, unix.EPOLLONESHOT, token); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// take returns the function of a pipe, which is not watched any more; nil if it was not.
func (w *Watcher) take(token uint64) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.all[token]
	delete(w.all, token)
	return f
}

func (w *Watcher) run() {
	defer close(w.done)
	var events [16]unix.EpollEvent
	for {
		n, err := unix.EpollWait(w.epoll, events[:], -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			token := uint64(uint32(e.Pad))<<32 | uint64(uint32(e.Fd))
			if token == stopToken {
				return
			}
			if f := w.take(token); f != nil {
				f()
			}
		}
	}
}

// Close ends the reports. No function is called after it.
func (w *Watcher) Close() error {
	_, err := unix.Write(w.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-w.done
	return errors.Join(err, unix.Close(w.epoll), unix.Close(w.stop))
}
