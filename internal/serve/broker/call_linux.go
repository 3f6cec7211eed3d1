package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A call is one call of a program in progress. It is the [Caller] that [Object.Call] gets.
type call struct {
	session *session
	number  uint32
	object  uint32 // number of the object
	process uint32 // number of the process that makes the call
	ctx     context.Context
	stop    func()     // cancels ctx
	answers chan frame // answers to questions; capacity 1
	asked   kind       // kind of the expected answer, 0 if none; guarded by the session's mu
}

// run executes the call and replies.
func (x *call) run(o *object, what Call) {
	c := x.session
	result, err := o.opened.Call(x.ctx, x, what)
	x.stop()
	if err != nil {
		c.server.cfg.Log.Debug("a call of a program fails", "program", o.program, "user", c.from.uid, "error", err)
		result = 0
	}
	// From here on the client may reuse the number for another call.
	c.mu.Lock()
	delete(c.calls, x.number)
	c.mu.Unlock()
	c.server.quota.release(Calls, c.from.uid, &c.counts)
	c.send(&frame{kind: kindReply, call: x.number, errno: errnoOf(err), arg: uint64(result)})
}

// ask sends a question to the client, with the descriptors files, and waits for an answer of kind
// want.
func (x *call) ask(f *frame, want kind, files ...int) (frame, error) {
	c := x.session
	c.mu.Lock()
	x.asked = want
	c.mu.Unlock()
	c.send(f, files...)
	late := time.NewTimer(c.server.cfg.Patience)
	defer late.Stop()
	select {
	case a := <-x.answers:
		return a, nil
	case <-c.over:
		return frame{}, fmt.Errorf("the connection has ended: %w", uapi.EIO)
	case <-late.C:
		_ = c.link.close() // ends the reader
		return frame{}, fmt.Errorf("the client has not answered %v for %v: %w", f.kind, c.server.cfg.Patience, uapi.EIO)
	}
}

// answer passes an answer of the client to the call that waits for it.
func (c *session) answer(f *frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.calls[f.call]
	if x == nil || x.asked != f.kind {
		return fmt.Errorf("broker: unexpected %v of call %d", f.kind, f.call)
	}
	x.asked = 0
	a := *f
	a.data = nil
	x.answers <- a
	return nil
}

// Install implements [Caller].
func (x *call) Install(f *os.File, o any) (int, error) {
	c := x.session
	if err := c.server.quota.acquire(Installed, c.from.uid, &c.counts); err != nil {
		return 0, err
	}
	number, err := c.enter(&object{value: o, owner: x.object})
	if err != nil {
		c.server.quota.release(Installed, c.from.uid, &c.counts)
		return 0, err
	}
	fd, err := x.install(f, number)
	if err != nil {
		c.mu.Lock()
		_, there := c.objects[number]
		delete(c.objects, number)
		c.mu.Unlock()
		if there { // otherwise the owner has ended, and forget has released the unit
			c.server.quota.release(Installed, c.from.uid, &c.counts)
		}
	}
	return fd, err
}

// enter assigns a number to an object that is being installed.
func (c *session) enter(o *object) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.objects[o.owner] == nil {
		return 0, fmt.Errorf("object %d has ended: %w", o.owner, uapi.EBADF)
	}
	n := c.number()
	c.objects[n] = o
	return n, nil
}

// install lets the client install f as the object with a number, and returns the descriptor of the
// program.
func (x *call) install(f *os.File, number uint32) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var a frame
	e := raw.Control(func(own uintptr) {
		question := &frame{kind: kindInstall, flags: flagCloseOnExec, call: x.number, object: number}
		a, err = x.ask(question, kindInstalled, int(own))
	})
	switch err = errors.Join(e, err); {
	case err != nil:
		return 0, err
	case a.errno != 0:
		return 0, fmt.Errorf("a descriptor for the program: %w", uapi.Errno(a.errno))
	case a.arg > 1<<31-1:
		return 0, fmt.Errorf("a descriptor for the program: the client says that it is %d: %w", a.arg, uapi.EIO)
	}
	return int(a.arg), nil
}

// Object implements [Caller]. The number that the client answers can only name one of its own
// objects.
func (x *call) Object(fd int32) any {
	if fd < 0 {
		return nil
	}
	c := x.session
	a, err := x.ask(&frame{kind: kindFind, call: x.number, arg: uint64(fd)}, kindFound)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.objects[a.object]; o != nil {
		return o.value
	}
	return nil
}

// Opened implements [Caller].
func (x *call) Opened() (out []Object) {
	c := x.session
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.objects {
		if o.opened != nil && o.process == x.process {
			out = append(out, o.opened)
		}
	}
	return out
}

// isClosed reports whether err means that this end has closed the connection.
func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }
