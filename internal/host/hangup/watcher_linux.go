package hangup

import (
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/host/epoll"
	"golang.org/x/sys/unix"
)

// A Watcher watches the write ends of pipes. It reports when the read end of a pipe is closed and,
// on request, when the pipe is writable. One goroutine waits for all pipes and calls the functions
// of Add, so they must not block. All methods are safe for concurrent use.
type Watcher struct {
	epoll *epoll.Instance
	done  chan struct{}

	mu   sync.Mutex
	last uint64            // identifier of the latest Watch; guarded by mu
	all  map[uint64]*Watch // by identifier; guarded by mu
}

// A Watch is the registration of one pipe. Its methods must be called before the descriptor of
// the pipe is closed.
type Watch struct {
	watcher      *Watcher
	id           uint64 // identifier, never reused, unlike the descriptor number
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

// Add registers the pipe with the write end fd until Remove. The goroutine of the watcher calls
// hungUp once, when the read end is closed. It calls room, which may be nil, once for each
// AwaitRoom, when the pipe is writable.
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

// arm requests one report of the given epoll events. A hang-up is always reported. op is the
// operation of epoll_ctl(2).
func (p *Watch) arm(op int, events uint32) error {
	return p.watcher.epoll.Control(op, p.fd,
		unix.EpollEvent{Events: unix.EPOLLONESHOT | events, Fd: int32(p.id), Pad: int32(p.id >> 32)})
}

// AwaitRoom requests one call of room.
func (p *Watch) AwaitRoom() error { return p.arm(unix.EPOLL_CTL_MOD, unix.EPOLLOUT) }

// AwaitEnd cancels AwaitRoom; only the closing of the read end is then reported.
func (p *Watch) AwaitEnd() error { return p.arm(unix.EPOLL_CTL_MOD, 0) }

// Remove ends the reports of the pipe. A call of its functions may still be running.
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

// Close stops the watcher. No function is called after it returns.
func (w *Watcher) Close() error {
	w.epoll.Stop()
	<-w.done
	return w.epoll.Close()
}
