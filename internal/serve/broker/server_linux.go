package broker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// A Device is a device that clients can use.
type Device struct {
	Describe func() Description
	Files    map[File]Service
}

// A Config configures a server. Devices and Log are required.
type Config struct {
	Devices []Device
	Log     *slog.Logger
	NetNS   string // number of the network namespace of the devices
	Limits  Limits // zero: those of [DefaultLimits] for this process
	// Patience is the timeout of a client's first message, of reading a message, and of answering
	// a question; 0 means 10 s.
	Patience time.Duration
	// Idle is how long the server may have no client before it calls OnIdle, once; 0 means forever.
	// From then on the server accepts no client. The first client has at least Patience to connect.
	Idle   time.Duration
	OnIdle func()
	// After calls f in its own goroutine after d, unless stop is called before; nil means
	// time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

// A Server executes calls of programs for any number of clients. All methods are safe for
// concurrent use.
type Server struct {
	cfg   Config
	quota *quota

	mu      sync.Mutex
	clients map[*session]struct{} // guarded by mu
	closed  bool                  // guarded by mu
	used    bool                  // there was a client; guarded by mu
	// stopIdle stops the timer of OnIdle; nil if there is none. idling numbers the timers. Both
	// are guarded by mu.
	stopIdle func() bool
	idling   int

	serving sync.WaitGroup
}

// NewServer returns a server; its idle time starts now.
func NewServer(c Config) *Server {
	if c.Patience <= 0 {
		c.Patience = 10 * time.Second
	}
	if c.After == nil {
		c.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if c.Limits == (Limits{}) {
		var r unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
			r.Cur = 1024
		}
		c.Limits = DefaultLimits(r.Cur)
	}
	s := &Server{cfg: c, quota: newQuota(c.Limits), clients: map[*session]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle()
	return s
}

// Serve accepts clients until the listener is closed.
func (s *Server) Serve(l net.Listener) {
	for {
		c, err := l.Accept()
		switch conn, ok := c.(*net.UnixConn); {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors
			s.cfg.Log.Warn("a program cannot connect", "error", err)
			time.Sleep(100 * time.Millisecond)
		case !ok:
			_ = c.Close()
		default:
			s.accept(conn)
		}
	}
}

// accept serves a connection in its own goroutine. A connection over a limit is closed; the
// reason is sent if the socket accepts it at once.
func (s *Server) accept(conn *net.UnixConn) {
	from, err := senderOf(conn)
	c := &session{
		server: s, link: newLink(conn, true, s.cfg.Patience), from: from,
		over: make(chan struct{}), changed: make(chan struct{}, 1),
		processes: map[uint32]*process{}, objects: map[uint32]*object{}, calls: map[uint32]*call{},
	}
	if err == nil {
		err = s.quota.acquire(Clients, from.uid, &c.counts)
	}
	if err != nil {
		s.cfg.Log.Warn("a program is refused", "user", from.uid, "error", err)
		c.refuse(err)
		_ = conn.Close()
		return
	}
	if !s.enter(c) {
		s.quota.release(Clients, from.uid, &c.counts)
		_ = conn.Close()
		return
	}
	go func() {
		defer s.serving.Done()
		err := c.run()
		s.quota.release(Clients, from.uid, &c.counts)
		s.leave(c)
		if err != nil {
			s.cfg.Log.Info("client connection ended", "user", from.uid, "error", err)
		}
	}()
}

// senderOf returns the user of a connection, as the kernel reports it.
func senderOf(conn *net.UnixConn) (from sender, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return from, err
	}
	var cred *unix.Ucred
	e := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(e, err); err != nil {
		return from, err
	}
	return sender{cred.Uid}, nil
}

// enter adds a client. It returns false if the server is closed.
func (s *Server) enter(c *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.stopIdle != nil {
		s.stopIdle()
		s.stopIdle = nil
	}
	s.clients[c] = struct{}{}
	s.used = true
	s.serving.Add(1)
	return true
}

func (s *Server) leave(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	if len(s.clients) == 0 && !s.closed {
		s.idle()
	}
}

// idle starts the timer of OnIdle. The caller holds mu.
func (s *Server) idle() {
	if s.cfg.Idle <= 0 || s.cfg.OnIdle == nil {
		return
	}
	wait := s.cfg.Idle
	if !s.used { // the process that started this one for a client needs time to connect
		wait = max(wait, s.cfg.Patience)
	}
	s.idling++
	this := s.idling
	s.stopIdle = s.cfg.After(wait, func() {
		s.mu.Lock()
		still := this == s.idling && len(s.clients) == 0 && !s.closed
		s.closed = s.closed || still
		s.mu.Unlock()
		if still {
			s.cfg.OnIdle()
		}
	})
}

// Close disconnects all clients and ends their objects. It returns when that is done or ctx ends:
// a client can delay the end of its own calls.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	if s.stopIdle != nil {
		s.stopIdle()
	}
	for c := range s.clients {
		_ = c.link.close() // may have ended
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Changed notifies the clients of a device that its description has changed. It does not block.
func (s *Server) Changed(device string) {
	for _, c := range s.list() {
		c.scheduleChanged(device)
	}
}

func (s *Server) list() (out []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		out = append(out, c)
	}
	return out
}

// A Program describes a process that has a device file open.
type Program struct {
	Owner    string // see [CallerMemory]
	UID      uint32
	Device   string
	Contexts int
}

// Programs returns the programs that have device files open, in no order.
func (s *Server) Programs() (out []Program) {
	for _, c := range s.list() {
		out = append(out, c.programs()...)
	}
	return out
}

// errnoOf returns the error number that the program gets for err: 0 for nil, EIO if err wraps no
// number.
func errnoOf(err error) uint32 {
	var ours uapi.Errno
	var system unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ours):
		return uint32(ours)
	case errors.As(err, &system):
		return uint32(system)
	}
	return uint32(uapi.EIO)
}
