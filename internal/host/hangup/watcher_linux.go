package hangup

import (
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/host/epoll"
	"golang.org/x/sys/unix"
)

// A Watcher watches the write ends of pipes: it reports a pipe whose read end is closed and, where that was asked
// for, one that has room again. One goroutine waits for all of them, so what it calls must not wait for a program. All
// methods are safe for concurrent use.
type Watcher struct {
	epoll *epoll.Instance
	done  chan struct{}

	mu   sync.Mutex
	last uint64            // identifier, guarded by mu
	all  map[uint64]*Watch // guarded by mu
}

// A Watch is that of one pipe. Its methods are called before the descriptor of the pipe is closed.
type Watch struct {
	watcher      *Watcher
	id           uint64 // never used again, unlike the number of the descriptor
	fd           int
	hungUp, room func()
}

// New returns a watcher without pipes.
func New() (*Watcher, error) {
	e, err := epoll.New()
	if err != nil {
		return nil, fmt.Errorf("hangup: %w", err)
	}
	w := &Watcher{epoll: e, done: make(chan struct{}), all: map[uint64]*Watch{}}
	go w.run()
	return w, nil
}

// Add calls hungUp once, in the goroutine of the watcher, when the read end of the pipe with the write end fd is
// closed, until Remove; and room, which may be nil, when there is room after AwaitRoom.
func (w *Watcher) Add(fd int, hungUp, room func()) (*Watch, error) {
	w.mu.Lock()
	w.last++
	p := &Watch{w, w.last, fd, hungUp, room}
	w.all[p.id] = p
	w.mu.Unlock()
	if err := p.arm(unix.EPOLL_CTL_ADD, 0); err != nil {
		p.Remove()
		return nil, fmt.Errorf("hangup: %w", err)
	}
	return p, nil
}

// arm asks for one report: of the end of the readers, which is always reported, and of events.
func (p *Watch) arm(op int, events uint32) error {
	return p.watcher.epoll.Control(op, p.fd,
		unix.EpollEvent{Events: unix.EPOLLONESHOT | events, Fd: int32(p.id), Pad: int32(p.id >> 32)})
}

// AwaitRoom asks for one call of room.
func (p *Watch) AwaitRoom() error { return p.arm(unix.EPOLL_CTL_MOD, unix.EPOLLOUT) }

// AwaitEnd is for room, when it is not to be called again.
func (p *Watch) AwaitEnd() error { return p.arm(unix.EPOLL_CTL_MOD, 0) }

// Remove ends the reports of the pipe. A call of its functions may be under way.
func (p *Watch) Remove() {
	p.watcher.mu.Lock()
	defer p.watcher.mu.Unlock()
	delete(p.watcher.all, p.id)
}

func (w *Watcher) run() {
	defer close(w.done)
	_ = w.epoll.Wait(make([]unix.EpollEvent, 16), func(events []unix.EpollEvent) bool { // until Close
		for _, e := range events {
			w.report(uint64(uint32(e.Fd))|uint64(uint32(e.Pad))<<32, e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0)
		}
		return false
	})
}

func (w *Watcher) report(id uint64, over bool) {
	w.mu.Lock()
	p := w.all[id]
	if over {
		delete(w.all, id)
	}
	w.mu.Unlock()
	switch {
	case p == nil:
	case over:
		p.hungUp()
	case p.room != nil:
		p.room()
	}
}

// Close ends the reports. No function is called after it.
func (w *Watcher) Close() error {
	w.epoll.Stop()
	<-w.done
	return w.epoll.Close()
}
