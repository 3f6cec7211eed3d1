package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// service is a [Service] that the test controls.
type service struct {
	mu     sync.Mutex
	answer func(ctx context.Context, o *file, from Caller, c Call) (int64, error)
	fail   error // of Open
	opened []*file
}

// answers sets the function that answers calls.
func (s *service) answers(f func(ctx context.Context, o *file, from Caller, c Call) (int64, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// fails makes opens fail.
func (s *service) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// file is an open device file of service.
type file struct {
	service *service
	space   CallerMemory
	mu      sync.Mutex
	f       *os.File // guarded by mu
	dropped chan struct{}
	closed  chan struct{}
	once    sync.Once
}

func (s *service) Open(space CallerMemory) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, errors.Join(s.fail, space.Close())
	}
	f, err := os.CreateTemp("", "broker")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	o := &file{service: s, space: space, f: f, dropped: make(chan struct{}), closed: make(chan struct{})}
	s.opened = append(s.opened, o)
	return o, nil
}

func (s *service) files() []*file {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

func (o *file) Program(use func(fd int) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return use(int(o.f.Fd()))
}

func (o *file) Call(ctx context.Context, from Caller, c Call) (int64, error) {
	o.service.mu.Lock()
	f := o.service.answer
	o.service.mu.Unlock()
	return f(ctx, o, from, c)
}

func (o *file) Drop() error { close(o.dropped); return nil }

func (o *file) Close() (err error) {
	o.once.Do(func() {
		o.mu.Lock()
		err = o.f.Close()
		o.mu.Unlock()
		if e := o.space.Close(); err == nil {
			err = e
		}
		close(o.closed)
	})
	return err
}

// rig is a server with one device, "roce0".
type rig struct {
	t       testing.TB
	service *service
	server  *Server
	socket  string
	stop    func()
}

func newRig(t testing.TB, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, service: &service{}}
	cfg := Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Devices: []Device{{
			Describe: func() Description {
				return Description{DeviceName: "roce0", Interface: "eth0", DeviceAttr: verbs.DeviceAttr{NodeGUID: 7}}
			},
			Files: map[File]Service{Verbs: r.service},
		}},
	}
	if change != nil {
		change(&cfg)
	}
	r.server = NewServer(cfg)
	dir, err := os.MkdirTemp("", "gx")
	if err != nil {
		t.Fatal(err)
	}
	r.socket = filepath.Join(dir, "s")
	l, err := net.Listen(network, r.socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		r.server.Serve(l)
	}()
	r.stop = sync.OnceFunc(func() {
		l.Close()
		<-served
		if err := r.server.Close(context.Background()); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	t.Cleanup(r.stop)
	return r
}

// dial connects and starts a client.
func (r *rig) dial() *Client {
	r.t.Helper()
	c, err := Dial(r.t.Context(), r.socket, Request{})
	if err != nil {
		r.t.Fatal(err)
	}
	c.Start(quiet{})
	r.t.Cleanup(func() { c.Close() })
	return c
}

// raw connects without a client, up to WELCOME.
func (r *rig) raw() *link {
	r.t.Helper()
	conn, err := net.Dial(network, r.socket)
	if err != nil {
		r.t.Fatal(err)
	}
	l := newLink(conn.(*net.UnixConn), false, handshake)
	r.t.Cleanup(func() { l.close() })
	if err := l.send(&frame{kind: kindHello, data: encode(hello{Version: version})}); err != nil {
		r.t.Fatal(err)
	}
	if f, _, err := l.receive(); err != nil || f.kind != kindWelcome {
		r.t.Fatalf("%v, %v", f.kind, err)
	}
	return l
}

// quiet ignores all events.
type quiet struct{}

func (quiet) Ended(uint32)        {}
func (quiet) Changed(Description) {}

// proc holds the descriptors of OPEN for this process.
type proc [numOpenFiles]*os.File

func openSelf(t testing.TB) proc {
	t.Helper()
	return openProcess(t, os.Getpid())
}

func openProcess(t testing.TB, pid int) proc {
	t.Helper()
	var p proc
	dir := fmt.Sprintf("/proc/%d", pid)
	for i, x := range []struct {
		path  string
		flags int
	}{{dir, unix.O_PATH | unix.O_DIRECTORY}, {dir + "/mem", os.O_RDWR}, {dir + "/maps", os.O_RDONLY}} {
		f, err := os.OpenFile(x.path, x.flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		p[i] = f
	}
	return p
}

func (p proc) close() {
	for _, f := range p {
		f.Close()
	}
}

// open opens the device for a process whose memory is that of the test.
func (r *rig) open(c *Client, process uint32) (object uint32) {
	r.t.Helper()
	p := openSelf(r.t)
	defer p.close()
	f, object, err := c.Open(process, Verbs, p[fileDir], p[fileMem], p[fileMaps])
	if err != nil {
		r.t.Fatal(err)
	}
	f.Close()
	return object
}

// thread is a thread of a program in this process.
type thread struct {
	answers chan answer
	install func(f *os.File, object uint32, closeOnExec bool) (int, error)
	find    func(fd int32) uint32
}

type answer struct {
	result int64
	errno  unix.Errno
}

func newThread() *thread { return &thread{answers: make(chan answer, 2)} }

func (t *thread) Install(f *os.File, object uint32, closeOnExec bool) (int, error) {
	return t.install(f, object, closeOnExec)
}

func (t *thread) Find(fd int32) uint32 { return t.find(fd) }

func (t *thread) Answer(result int64, errno unix.Errno) { t.answers <- answer{result, errno} }

// callOf makes a call and returns its answer.
func callOf(c *Client, object uint32, what Call, t *thread) answer {
	c.Call(object, 1, what, t)
	return <-t.answers
}

// countDescriptors returns the number of open descriptors of this process.
func countDescriptors(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
