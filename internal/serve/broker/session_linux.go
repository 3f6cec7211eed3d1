package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A session serves one client of a server, until the connection ends.
type session struct {
	server  *Server
	link    *link
	from    sender
	counts  counts        // of the client; guarded by the quota's mu
	over    chan struct{} // closed when the connection has ended
	changed chan struct{} // capacity 1: the description has changed

	working sync.WaitGroup // calls and other goroutines

	mu sync.Mutex
	// device is the device that the first message requests, nil before. It is set under mu; the
	// reader and goroutines started later read it without mu.
	device    *Device
	ended     bool                // over is closed, nothing is added; guarded by mu, as are the fields below
	processes map[uint32]*process // by the client's numbers
	objects   map[uint32]*object  // by the server's numbers
	last      uint32              // number of the last object
	calls     map[uint32]*call    // in progress, by the client's numbers
}

// run serves the client until its connection ends, and then ends all its objects. The error is nil
// if the connection was closed, and not nil if the client violated a rule.
func (c *session) run() error {
	err := c.greet()
	for err == nil {
		err = c.next()
	}
	c.end()
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || isClosed(err) {
		return nil
	}
	return err
}

// refuse sends the reason why a client is rejected, if the socket accepts it.
func (c *session) refuse(why error) {
	text := []byte(why.Error())
	f := &frame{kind: kindRefused, errno: errnoOf(why), data: text[:min(len(text), maxReason)]}
	_ = c.link.send(f) // the client may have gone
}

// greet answers the first message.
func (c *session) greet() error {
	if err := c.link.conn.SetReadDeadline(time.Now().Add(c.server.cfg.Patience)); err != nil {
		return err
	}
	f, _, err := c.link.receive() // HELLO has no descriptors
	if err != nil {
		return err
	}
	if f.kind != kindHello {
		return fmt.Errorf("broker: the first message is %v", f.kind)
	}
	h, err := decode[hello](f.data)
	if err != nil {
		return err
	}
	if h.Version != version {
		c.refuse(fmt.Errorf("protocol versions differ: daemon %d, gorxe run %d; "+
			"install the same release: %w", version, h.Version, uapi.EPROTONOSUPPORT))
		return io.EOF
	}
	d, err := c.server.find(h.Request)
	if err != nil {
		c.refuse(err)
		return io.EOF
	}
	c.mu.Lock()
	c.device = d
	c.mu.Unlock()
	if err := c.link.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := c.link.send(&frame{kind: kindWelcome, data: encode(d.Describe())}); err != nil {
		return err
	}
	c.working.Go(c.sendChanges)
	return nil
}

// find returns the device that a client requests.
func (s *Server) find(r Request) (*Device, error) {
	if r.NetNS != "" && r.NetNS != s.cfg.NetNS {
		return nil, fmt.Errorf(
			"the daemon is in network namespace %s, not in %s: name its socket with --socket to use it: %w",
			s.cfg.NetNS, r.NetNS, uapi.ENODEV)
	}
	var have []string
	for i := range s.cfg.Devices {
		d := s.cfg.Devices[i].Describe()
		if d.is(r.Device) {
			return &s.cfg.Devices[i], nil
		}
		have = append(have, d.DeviceName)
	}
	return nil, fmt.Errorf("the daemon has no device %q, it has %q: %w", r.Device, have, uapi.ENODEV)
}

// scheduleChanged schedules a notification of the client if its device is the one that has changed.
func (c *session) scheduleChanged(device string) {
	c.mu.Lock()
	d := c.device
	c.mu.Unlock()
	if d == nil || d.Describe().DeviceName != device {
		return
	}
	select {
	case c.changed <- struct{}{}:
	default: // already scheduled
	}
}

func (c *session) sendChanges() {
	for {
		select {
		case <-c.over:
			return
		case <-c.changed:
			c.send(&frame{kind: kindChanged, data: encode(c.device.Describe())})
		}
	}
}

// send sends a message. An error ends the connection.
func (c *session) send(f *frame, files ...int) {
	if err := c.link.send(f, files...); err != nil {
		_ = c.link.close() // ends the reader
	}
}

// next handles the next message of the client.
func (c *session) next() error {
	f, files, err := c.link.receive()
	if err != nil {
		return err
	}
	switch f.kind {
	case kindOpen:
		c.open(&f, files)
		return nil
	case kindCall:
		return c.begin(&f)
	case kindCancel:
		c.cancel(f.call)
		return nil
	case kindInstalled, kindFound:
		return c.answer(&f)
	case kindRelease:
		c.release(f.object)
		return nil
	case kindExit:
		c.exit(f.process)
		return nil
	case kindExec:
		c.exec(&f)
		return nil
	}
	return fmt.Errorf("broker: %v after the handshake", f.kind)
}

// release ends an object that the program did not get.
func (c *session) release(number uint32) {
	c.mu.Lock()
	o := c.objects[number]
	ends := o != nil && o.opened != nil && !o.released
	if ends {
		o.released = true
	}
	c.mu.Unlock()
	if ends {
		c.working.Go(func() { c.log("an object ends", o.opened.Close()) })
	}
}

// exit drops the objects that a process has opened: they end with their last descriptor.
func (c *session) exit(process uint32) {
	c.mu.Lock()
	delete(c.processes, process)
	var opened []Object
	for _, o := range c.objects {
		if o.opened != nil && o.process == process {
			opened = append(opened, o.opened)
		}
	}
	c.mu.Unlock()
	for _, o := range opened {
		c.log("a device file is dropped", o.Drop())
	}
}

// exec answers EXEC when the copies of the process's memory by PID have ended. The process can
// delay that.
func (c *session) exec(f *frame) {
	if err := c.server.quota.acquire(Calls, c.from.uid, &c.counts); err != nil {
		c.send(&frame{kind: kindReply, call: f.call, errno: errnoOf(err)})
		return
	}
	c.mu.Lock()
	var spaces []*space
	for _, o := range c.objects {
		if o.opened != nil && o.process == f.process {
			spaces = append(spaces, o.space)
		}
	}
	c.mu.Unlock()
	call := f.call
	c.working.Go(func() {
		for _, s := range spaces {
			s.EndDirect()
		}
		c.server.quota.release(Calls, c.from.uid, &c.counts)
		c.send(&frame{kind: kindReply, call: call})
	})
}

// end ends all objects of the client.
func (c *session) end() {
	_ = c.link.close() // may be closed
	c.mu.Lock()
	c.ended = true
	close(c.over)
	for _, x := range c.calls {
		x.stop()
	}
	var opened []Object
	for _, o := range c.objects {
		if o.opened != nil {
			opened = append(opened, o.opened)
		}
	}
	c.mu.Unlock()
	// Each Close waits for its own calls, so that a blocked one does not delay the others.
	for _, o := range opened {
		c.working.Go(func() { c.log("an object ends", o.Close()) })
	}
	c.working.Wait()
}

func (c *session) log(what string, err error) {
	if err != nil {
		c.server.cfg.Log.Debug(what, "user", c.from.uid, "error", err)
	}
}

// programs returns the programs that have device files open.
func (c *session) programs() (out []Program) {
	c.mu.Lock()
	d := c.device
	type key struct { // a process that executes another program is displayed as another program
		of   *process
		name string
	}
	count := map[key]int{}
	for _, o := range c.objects {
		if o.opened != nil {
			count[key{o.of, o.program}]++
		}
	}
	c.mu.Unlock()
	if d == nil {
		return nil
	}
	name := d.Describe().DeviceName
	for p, n := range count {
		out = append(out, Program{Owner: p.name, UID: c.from.uid, Device: name, Contexts: n})
	}
	return out
}

// cancel asks a call to end, because its caller got a signal.
func (c *session) cancel(number uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.calls[number]; x != nil { // it may have been answered
		x.stop()
	}
}

// begin answers CALL in its own goroutine. If the call cannot start, the receiving goroutine
// answers, so that a client that does not read the answers cannot accumulate goroutines.
func (c *session) begin(f *frame) error {
	x, o, err := c.enterCall(f)
	if err != nil {
		c.send(&frame{kind: kindReply, call: f.call, errno: errnoOf(err)})
		return nil
	}
	if x == nil {
		return fmt.Errorf("broker: call %d is under way", f.call)
	}
	what := Call{
		Write: f.flags&flagWrite != 0, NonBlock: f.flags&flagNonBlock != 0,
		Cmd: f.cmd, Arg: f.arg, Data: append([]byte(nil), f.data...), Size: f.size,
	}
	c.working.Go(func() { x.run(o, what) })
	return nil
}

// enterCall adds a new call on an object. It returns nil, without an error, if the number of the
// call is in use.
func (c *session) enterCall(f *frame) (*call, *object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[f.call] != nil {
		return nil, nil, nil
	}
	o := c.objects[f.object]
	if o == nil || o.opened == nil { // it has just ended, or never existed
		return nil, nil, fmt.Errorf("object %d: %w", f.object, uapi.EBADF)
	}
	if o.process != f.process { // the call would access the memory of another process
		return nil, nil, fmt.Errorf("object %d is of another process: %w", f.object, uapi.EPERM)
	}
	if err := c.server.quota.acquire(Calls, c.from.uid, &c.counts); err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &call{
		session: c, number: f.call, object: f.object, process: f.process,
		ctx: ctx, stop: stop, answers: make(chan frame, 1),
	}
	c.calls[f.call] = x
	return x, o, nil
}
