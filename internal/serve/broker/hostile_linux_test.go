package broker

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A client that violates a rule loses its connection, and other clients are not affected.
func TestAClientThatBreaksARuleIsDisconnected(t *testing.T) {
	r := newRig(t, nil)
	good := r.dial()
	object := r.open(good, 1)
	r.service.answers(func(context.Context, *file, Caller, Call) (int64, error) { return 1, nil })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd := int(null.Fd())
	for name, x := range map[string]struct {
		bytes []byte
		files []int
	}{
		"a short message":    {bytes: make([]byte, headerSize-1)},
		"an unknown kind":    {bytes: (&frame{kind: 99}).appendTo(nil)},
		"no kind":            {bytes: (&frame{}).appendTo(nil)},
		"a server's message": {bytes: (&frame{kind: kindReply, call: 1}).appendTo(nil)},
		"a second HELLO":     {bytes: (&frame{kind: kindHello, data: []byte("{}")}).appendTo(nil)},
		"a field too much":   {bytes: (&frame{kind: kindCancel, call: 1, arg: 1}).appendTo(nil)},
		"an unknown flag":    {bytes: (&frame{kind: kindCall, flags: 8}).appendTo(nil)},
		"a flag of a write":  {bytes: (&frame{kind: kindCall, flags: flagNonBlock}).appendTo(nil)},
		"data of an ioctl":   {bytes: (&frame{kind: kindCall, data: []byte("x")}).appendTo(nil)},
		"less data than the size": {bytes: (&frame{kind: kindCall, flags: flagWrite, size: 2,
			data: []byte("x")}).appendTo(nil)},
		"too much data": {bytes: (&frame{kind: kindCall, flags: flagWrite, size: MaxWrite + 1,
			data: make([]byte, MaxWrite+1)}).appendTo(nil)},
		"an open without files": {bytes: (&frame{kind: kindOpen, call: 1}).appendTo(nil)},
		"files of a call":       {bytes: (&frame{kind: kindCall, call: 1}).appendTo(nil), files: []int{fd}},
		"too many files": {bytes: (&frame{kind: kindOpen, call: 1}).appendTo(nil),
			files: []int{fd, fd, fd, fd, fd}},
		"an answer to nothing": {bytes: (&frame{kind: kindInstalled, call: 1}).appendTo(nil)},
		"a large error number": {bytes: (&frame{kind: kindInstalled, call: 1, errno: 5000}).appendTo(nil)},
	} {
		bad := r.raw()
		if _, _, err := bad.conn.WriteMsgUnix(x.bytes, unix.UnixRights(x.files...), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f, _, err := bad.receive(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, %v", name, f.kind, err)
		}
		if got := callOf(good, object, Call{}, newThread()); got.result != 1 {
			t.Errorf("%s: another client gets %+v", name, got)
		}
	}
}

func TestTheFirstMessageIsAHelloOfTheSameVersion(t *testing.T) {
	r := newRig(t, nil)
	for name, x := range map[string]struct {
		first frame
		kind  kind
	}{
		"another message": {first: frame{kind: kindExit}},
		"no JSON":         {first: frame{kind: kindHello, data: []byte("hello")}},
		"another version": {first: frame{kind: kindHello, data: encode(hello{Version: version + 1})},
			kind: kindRefused},
	} {
		conn, err := net.Dial(network, r.socket)
		if err != nil {
			t.Fatal(err)
		}
		l := newLink(conn.(*net.UnixConn), false, handshake)
		if err := l.send(&x.first); err != nil {
			t.Fatal(err)
		}
		f, _, err := l.receive()
		if x.kind == 0 && !errors.Is(err, io.EOF) || x.kind != 0 && f.kind != x.kind {
			t.Errorf("%s: %v, %v", name, f.kind, err)
		}
		l.close()
	}
}

func TestAClientThatSaysNothingIsDisconnected(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Millisecond })
	conn, err := net.Dial(network, r.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = 20 * time.Millisecond })
	silent := r.raw()
	good := r.dial()
	object := r.open(good, 1)
	r.service.answers(func(context.Context, *file, Caller, Call) (int64, error) { return 1, nil })
	var err error
	for n := uint32(0); err == nil; n++ { // the answers fill its socket
		err = silent.send(&frame{kind: kindCall, call: n, object: 77})
		if n%1000 == 0 {
			if got := callOf(good, object, Call{}, newThread()); got.result != 1 {
				t.Errorf("another client gets %+v", got)
			}
		}
	}
	if !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		t.Error(err)
	}
}

func TestAClientThatDoesNotAnswerIsDisconnected(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Second / 4 })
	r.service.answers(func(_ context.Context, _ *file, from Caller, c Call) (int64, error) {
		n, err := from.Install(os.Stdin, 1)
		return int64(n), err
	})
	c := r.dial()
	object := r.open(c, 1)
	th := newThread()
	over := make(chan struct{})
	th.install = func(*os.File, uint32, bool) (int, error) { <-over; return 3, nil }
	defer close(over)
	if got := callOf(c, object, Call{}, th); got.errno != unix.EIO {
		t.Errorf("%+v", got)
	}
	<-c.Done()
}

func TestWhatIsBeyondALimitIsRefused(t *testing.T) {
	limits := DefaultLimits(1 << 20)
	limits[Contexts].Client = 2
	limits[Processes].User = 2
	limits[Installed].All = 1
	limits[Calls].Client = 1
	limits[Clients].User = 2
	r := newRig(t, func(c *Config) { c.Limits = limits })
	c := r.dial()
	object := r.open(c, 1)
	second := r.open(c, 1)
	p := openSelf(t)
	defer p.close()
	open := func(c *Client, process uint32) error {
		f, _, err := c.Open(process, Verbs, p[fileDir], p[fileMem], p[fileMaps])
		if err == nil {
			f.Close()
		}
		return err
	}
	if err := open(c, 1); !errors.Is(err, unix.EMFILE) {
		t.Errorf("a third context: %v", err)
	}
	other := r.dial()
	r.open(other, 1)
	if err := open(other, 2); !errors.Is(err, unix.EMFILE) {
		t.Errorf("a third process of the user: %v", err)
	}
	var refused *RefusedError
	if _, err := Dial(t.Context(), r.socket, Request{}); !errors.As(err, &refused) || !errors.Is(err, unix.EMFILE) {
		t.Errorf("a third client: %v", err)
	}
	waiting := make(chan struct{})
	r.service.answers(func(ctx context.Context, _ *file, from Caller, c Call) (int64, error) {
		if c.Cmd == 1 {
			n, err := from.Install(os.Stdin, 1)
			return int64(n), err
		}
		close(waiting)
		<-ctx.Done()
		return 0, unix.EINTR
	})
	th := newThread()
	th.install = func(*os.File, uint32, bool) (int, error) { return 3, nil }
	if got := callOf(c, object, Call{Cmd: 1}, th); got.result != 3 {
		t.Errorf("%+v", got)
	}
	if got := callOf(c, object, Call{Cmd: 1}, th); got.errno != unix.EMFILE {
		t.Errorf("a second file: %+v", got)
	}
	interrupt := c.Call(object, 1, Call{}, th)
	<-waiting
	if got := callOf(c, second, Call{Cmd: 1}, newThread()); got.errno != unix.EAGAIN {
		t.Errorf("a second call: %+v", got)
	}
	interrupt()
	if got := <-th.answers; got.errno != unix.EINTR {
		t.Errorf("%+v", got)
	}
	r.service.files()[0].Close() // releases its context and its file
	r.open(c, 1)
}

// The server stops some time after its last client has gone, and only then.
func TestTheServerIsIdleAfterItsLastClient(t *testing.T) {
	timers := make(chan func(), 8)
	idle := make(chan struct{}, 1)
	r := newRig(t, func(c *Config) {
		c.Idle, c.OnIdle = time.Hour, func() { idle <- struct{}{} }
		c.After = func(d time.Duration, f func()) func() bool {
			if d != time.Hour {
				t.Errorf("the wait is %v", d)
			}
			timers <- f
			return func() bool { return false } // it is already running
		}
	})
	first := <-timers
	one, two := r.dial(), r.dial()
	first() // too late
	one.Close()
	two.Close()
	last := <-timers
	first()
	select {
	case <-idle:
		t.Fatal("a wait that was stopped ended the server")
	default:
	}
	last()
	<-idle
	if _, err := Dial(t.Context(), r.socket, Request{}); !errors.Is(err, ErrGone) {
		t.Errorf("a client that comes afterwards: %v", err)
	}
	last()
	select {
	case <-idle:
		t.Error("the end was told twice")
	default:
	}
}

// changes receives changes.
type changes chan Description

func (changes) Ended(uint32)            {}
func (c changes) Changed(d Description) { c <- d }

func TestClientsHearOfChangesOfTheirDevice(t *testing.T) {
	r := newRig(t, nil)
	c, err := Dial(t.Context(), r.socket, Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := make(changes, 4)
	c.Start(heard)
	r.server.Changed("another")
	r.server.Changed("roce0")
	if d := <-heard; d.DeviceName != "roce0" {
		t.Errorf("%+v", d)
	}
}
