//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/host/epoll"
	"golang.org/x/sys/unix"
)

// A Config configures a Server.
type Config struct {
	Handler     Handler
	Tree        *Tree
	Descriptors Descriptors // Process.Descriptors of the program
	// Workers is the maximum number of calls that are answered at a time, 0: 256. Each call has a
	// goroutine, and a thread while it accesses memory of its program.
	Workers int
	// PerProcess is the maximum number of calls of one process that are answered at a time, 0: 8.
	// It falls to one while half of Workers are busy. Further calls are queued.
	PerProcess int
	// SignalPoll is the interval of the polls for signals of callers that called OnInterrupt or
	// are queued, 0: 20 ms.
	SignalPoll time.Duration
	// MaxWrite is the maximum size in bytes of the data that Handler.Write gets, 0: 64 KiB.
	MaxWrite int
	// SyncWakeUp wakes callers on the processor of the answering thread. It needs Linux 6.6 or
	// newer; older kernels ignore it.
	SyncWakeUp bool
}

// A Server answers the trapped calls of one program and its descendants.
type Server struct {
	cfg      Config
	listener listener
	objects  objects
	procs    procs
	waiting  waiting
	sched    scheduler
	groups   threadGroups
	installs processLocks // one installation on a reserved number at a time in each process
	received atomic.Uint64

	pendingExecs pendingExecs

	calls *epoll.Instance // waits for the listener
	ended chan struct{}   // closed when no task has the filter any more
	end   sync.Once
	done  chan struct{} // closed when everything is released
	close sync.Once
}

// Serve starts to answer the calls of a listener. It keeps a duplicate of l.
func Serve(l *os.File, cfg Config) (*Server, error) {
	if !cfg.Descriptors.valid() || cfg.Handler == nil || cfg.Tree == nil {
		return nil, fmt.Errorf("trap: serve: a handler, a tree and descriptors are required; "+
			"the descriptors are %+v", cfg.Descriptors)
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 256
	}
	if cfg.PerProcess <= 0 {
		cfg.PerProcess = 8
	}
	if cfg.SignalPoll <= 0 {
		cfg.SignalPoll = 20 * time.Millisecond
	}
	if cfg.MaxWrite <= 0 {
		cfg.MaxWrite = 64 << 10
	}
	s := &Server{cfg: cfg, listener: listener{fd: -1}}
	s.ended, s.done = make(chan struct{}), make(chan struct{})
	s.objects.m = map[Inode]owned{}
	s.procs.threads, s.procs.watched = map[int]*thread{}, map[ProcID]*os.File{}
	s.waiting.every, s.waiting.wake = cfg.SignalPoll, make(chan struct{}, 1)
	s.waiting.calls = map[*parked]struct{}{}
	if err := s.openDescriptors(l); err != nil {
		s.closeDescriptors()
		return nil, fmt.Errorf("trap: serve: %w", err)
	}
	if cfg.SyncWakeUp {
		s.listener.setSyncWakeUp()
	}
	const workers = 2
	s.sched.init(cfg.Workers, cfg.PerProcess, workers)
	for range workers {
		go s.work()
	}
	go s.waiting.run(s.done)
	go s.finish()
	return s, nil
}

// openDescriptors duplicates the listener and opens the epoll instance of the workers. The listener
// is not registered with the runtime's poller, which takes EPOLLERR for a persistent error (see
// [eventOf]).
func (s *Server) openDescriptors(l *os.File) (err error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var errno error
	if err := raw.Control(func(fd uintptr) {
		s.listener.fd, errno = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil || errno != nil {
		return errors.Join(err, errno)
	}
	if s.calls, err = epoll.New(); err != nil {
		return err
	}
	return s.calls.Control(unix.EPOLL_CTL_ADD, s.listener.fd, unix.EpollEvent{Events: unix.EPOLLIN})
}

func (s *Server) closeDescriptors() {
	s.listener.close()
	if s.calls != nil {
		_ = s.calls.Close()
	}
}

// work receives notifications and answers them, until the server ends or too many workers are
// idle.
func (s *Server) work() {
	buf := new(scratch)
	for {
		c, ok := s.receive(buf)
		if !ok {
			s.sched.retire()
			return
		}
		if c == nil {
			continue
		}
		now, more := s.sched.begin(c)
		if more {
			go s.work()
		}
		if !now {
			if c.wait != nil {
				s.queue(c)
			}
			continue
		}
		for idle := false; !idle; {
			s.dispatch(c, buf)
			next, rest := s.sched.finish(c)
			if next == nil && !rest {
				return
			}
			if c, idle = next, rest; c != nil {
				s.waiting.remove(c.wait)
			}
		}
	}
}

// Received returns the number of notifications that the server has received, that is, of trapped
// system calls, including those that continued in the kernel.
func (s *Server) Received() uint64 { return s.received.Load() }

// queue watches the caller of a queued call for signals.
func (s *Server) queue(c *Call) {
	s.waiting.add(c.wait)
	if !s.sched.isQueued(c) {
		s.waiting.remove(c.wait)
	}
}

// unqueue answers a queued call whose caller has a signal. The call has had no effect, so the
// kernel may restart it after the signal's handler, with or without SA_RESTART.
func (s *Server) unqueue(c *Call, cause error) {
	if s.sched.withdraw(c) && cause == ErrInterrupted {
		_ = c.respond(&response{err: -erestartnointr})
	}
}

// wake ends the idle workers at once and the others after the calls that they answer.
func (s *Server) wake() {
	s.calls.Stop() // must be first: finish closes s.calls after the end of the scheduler
	s.sched.end()
}

// dispatch answers one call.
func (s *Server) dispatch(c *Call, buf *scratch) {
	k, known := nativeCalls[c.n.nr]
	switch {
	case native().executes(c.n.arch, uint32(c.n.nr)):
		s.exec(c)
	case !known || c.n.arch != native().audit:
		_ = c.Continue()
	case k == callIoctl:
		s.ioctl(c)
	case k == callWrite:
		s.write(c)
	case k == callFstat:
		s.fstat(c, int(int32(c.Arg(0))), 0, -1, c.Arg(1))
	case k == callDup:
		s.duplicate(c, 0, false)
	case k == callFcntl:
		s.duplicate(c, int(int32(c.Arg(2))), uint32(c.Arg(1)) == unix.F_DUPFD_CLOEXEC)
	default:
		s.path(c, k, buf)
	}
}

func (s *Server) ioctl(c *Call) {
	var st unix.Stat_t
	if o, ok := s.find(c, int(int32(c.Arg(0))), &st); ok {
		s.cfg.Handler.Ioctl(c, o.object, uint32(c.Arg(1)), c.Arg(2))
		return
	}
	_ = c.Continue()
}

func (s *Server) write(c *Call) {
	var st unix.Stat_t
	o, ok := s.find(c, int(int32(c.Arg(0))), &st)
	if !ok {
		_ = c.Continue()
		return
	}
	data := make([]byte, min(c.Arg(2), uint64(s.cfg.MaxWrite)))
	if err := c.access(func() error { return c.Read(c.Arg(1), data) }); err != nil {
		c.fail(err)
		return
	}
	s.cfg.Handler.Write(c, o.object, data, c.Arg(2))
}

// exec tells the handler that a process is about to execute another program. A child that shares
// the memory of its parent (vfork) is a process of its own.
func (s *Server) exec(c *Call) {
	s.pendingExecs.begin(c.TID())
	switch id, known, err := s.procs.watches(c); {
	case err != nil: // the handler may have to be told, so the execve must not continue
		c.fail(err)
	case known:
		s.cfg.Handler.Exec(c, id)
	default:
		_ = c.Continue()
	}
}

func (s *Server) exit(p ProcID) { s.cfg.Handler.Exit(p) }

// finish waits for the workers and releases everything.
func (s *Server) finish() {
	<-s.sched.drained
	select {
	case <-s.ended:
		s.procs.ends.Wait() // every watched process has ended: Exit is called for each
	default:
	}
	s.procs.close()
	s.close.Do(func() {}) // from here on Close does not call wake
	s.closeDescriptors()
	close(s.done)
}

// Done returns a channel that is closed when no process has the filter any more and Exit was called
// for each process, or after Close. No method of the handler is called after that. Until then the
// programs need this process: without it, their trapped calls are not answered.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close stops the server. Calls that are trapped later wait until their process is killed. A
// method of the handler must not call Close.
func (s *Server) Close() {
	s.close.Do(s.wake)
	<-s.done
}
