//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/internal/host/hangup"
	"github.com/gorxe/gorxe/internal/host/ringfile"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/verbs"
)

// A CallerMemory is the memory of a program. Its methods are safe for concurrent use. A
// CallerMemory that implements io.Closer is closed with its context. An optional method Owner()
// string names its program; see [verbs.Device.Owner]. See also [Accounted].
type CallerMemory interface {
	// Read fills p with the bytes at addr, or fails.
	Read(p []byte, addr uint64) error
	// Write stores p at addr, or fails.
	Write(p []byte, addr uint64) error
	// Register returns length bytes at addr as memory for regions with the given rights. It fails
	// if a page is not mapped, or lacks a permission that the rights require. The memory may
	// implement io.Closer, which is called when the region has ended.
	Register(addr, length uint64, access mr.Access) (mr.Memory, error)
}

// A Caller is the thread of a program whose call is answered.
type Caller interface {
	// Install gives the program a duplicate of f and returns its descriptor number there. From then
	// on, Object returns o for this descriptor and its duplicates. If o has a method Ended() bool,
	// Object may return nil once Ended returns true.
	Install(f *os.File, o any) (fd int, err error)
	// Object returns the value installed with the descriptor fd of the program, nil for any other
	// descriptor.
	Object(fd int32) any
}

// A Server answers the verbs calls of any number of programs for one device.
type Server struct {
	dev      *verbs.Device
	watcher  *ringfile.Watcher
	hangups  *hangup.Watcher
	page     int // bytes
	events   *verbs.EventReader
	reading  sync.WaitGroup // goroutine of readEvents
	routes   routes
	accounts accounts

	mu       sync.Mutex
	contexts map[*Context]struct{} // nil once closed
	onPort   func()                // see OnPortEvent
	guarded  bool                  // guard is running
}

// New returns a server for dev. It must be closed before the device.
func New(dev *verbs.Device) (*Server, error) {
	w, err := ringfile.NewWatcher()
	if err != nil {
		return nil, err
	}
	h, err := hangup.New()
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	s := &Server{
		dev: dev, watcher: w, hangups: h, page: os.Getpagesize(), events: dev.NewEventReader(),
		contexts: map[*Context]struct{}{},
	}
	s.reading.Go(s.readEvents)
	return s, nil
}

// Close ends all contexts. Closing it again has no effect.
func (s *Server) Close() error {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.contexts))
	closed := s.contexts == nil
	s.contexts = nil
	s.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	s.events.Close()
	s.reading.Wait()
	return errors.Join(append(errs, s.watcher.Close(), s.hangups.Close())...)
}

// Open answers open(2) of the device file: it creates a context. The program gets a duplicate of
// the context's file as its descriptor. Open takes ownership of space, the memory of the program,
// also if it fails. It may wait for the end of contexts that the program has closed.
func (s *Server) Open(space CallerMemory) (*Context, error) {
	f, err := ringfile.New("")
	if err != nil {
		return nil, errors.Join(err, closeSpace(space))
	}
	a := s.openAccount(space, f)
	if err := s.accounts.takeContext(a); err != nil {
		s.accounts.close(a)
		return nil, errors.Join(err, f.Close(), closeSpace(space))
	}
	c := newContext(s, space, f, a)
	c.taken[contexts] = 1
	s.mu.Lock()
	if s.contexts == nil {
		err = fmt.Errorf("uverbs: %w", verbs.ErrClosed)
	} else {
		s.contexts[c] = struct{}{}
		if a.user.key != nil {
			s.startGuard()
		}
	}
	s.mu.Unlock()
	if err == nil {
		if err = s.watcher.Add(f, c); err == nil {
			return c, nil
		}
	}
	return nil, errors.Join(err, c.Close())
}

// OnPortEvent sets the function f that is called at each event of the port, before programs are
// notified, so that they find the new state. One goroutine calls f, and delivers no event
// meanwhile.
func (s *Server) OnPortEvent(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onPort = f
}

func closeSpace(s CallerMemory) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// forget removes a closed context.
func (s *Server) forget(c *Context) {
	s.mu.Lock()
	delete(s.contexts, c)
	s.mu.Unlock()
}
