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

// A Config is what a Server needs besides the listener.
type Config struct {
	Handler     Handler
	Tree        *Tree
	Descriptors Descriptors // those of Process.Descriptors
	// Workers is the most calls that are answered at a time, 0: 256. Each has a goroutine, and a thread while its
	// arguments are read.
	Workers int
	// PerProcess is how many of them one process has at most, 0: 8. It has one while half of Workers are busy. Further
	// calls wait.
	PerProcess int
	// SignalPoll is the interval of the looks for signals of callers that called OnInterrupt,
	// 0: 20 ms.
	SignalPoll time.Duration
	// MaxWrite is the most bytes of a write that the handler gets, 0: 64 KiB.
	MaxWrite int
	// SyncWakeUp wakes callers on the processor of the answering thread, Linux 6.6 or newer.
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

	executing executing

	calls *epoll.Instance // has the listener
	ended chan struct{}   // closed when no task has the filter any more
	end   sync.Once
	done  chan struct{} // closed when everything is released
	close sync.Once
}

// Serve starts to answer the calls that come from a listener, and keeps a duplicate of it.
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
	if err := s.descriptors(l); err != nil {
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

// descriptors opens what the workers wait for. The listener is not for the runtime's poller, which takes EPOLLERR for
// an error that stays (see [newsOf]).
func (s *Server) descriptors(l *os.File) (err error) {
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

// work takes notifications and answers them, until the end or until there are too many idle workers.
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

// Received returns the number of notifications that the server has received: system calls that were trapped, whatever
// became of them.
func (s *Server) Received() uint64 { return s.received.Load() }

// queue watches the caller of a call that was queued.
func (s *Server) queue(c *Call) {
	s.waiting.add(c.wait)
	if !s.sched.waits(c) {
		s.waiting.remove(c.wait)
	}
}

// unqueue answers a queued call whose caller has a signal. Nothing was done for the call, so the kernel makes
// it again after the signal's handler, whether that has SA_RESTART or not.
func (s *Server) unqueue(c *Call, cause error) {
	if s.sched.withdraw(c) && cause == ErrInterrupted {
		_ = c.respond(&response{err: -erestartnointr})
	}
}

// wake ends all workers that wait for a call, and the others after their call.
func (s *Server) wake() {
	s.calls.Stop() // first: finish closes it after the end
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

// exec tells the handler that a process is going to execute another program. A child that shares the memory of its
// parent (vfork) is a process of its own.
func (s *Server) exec(c *Call) {
	s.executing.begin(c.TID())
	switch id, known, err := s.procs.watches(c); {
	case err != nil: // the handler may have to know
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
	<-s.sched.quiet
	select {
	case <-s.ended:
		s.procs.ends.Wait() // each tracked process has ended: Exit for all of them
	default:
	}
	s.procs.close()
	s.close.Do(func() {}) // no wake from here on
	s.closeDescriptors()
	close(s.done)
}

// Done is closed when no process has the filter any more and Exit was called for each process, or after
// Close. Only then may this process end without harm to the programs. No method of the handler is called from
// then on.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close stops the server; trapped calls wait from then on until their process is killed. It must not be called by a
// method of the handler.
func (s *Server) Close() {
	s.close.Do(s.wake)
	<-s.done
}
