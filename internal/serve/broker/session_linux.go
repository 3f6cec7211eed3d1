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

// A session is a connection of a server, from its start to its end.
type session struct {
	server *Server
	link   *link
	from   sender
	counts counts        // guarded by the lock of the quota
	over   chan struct{} // closed when the connection has ended
	news   chan struct{} // has room for one: the description has changed

	working sync.WaitGroup // calls and other goroutines

	mu        sync.Mutex
	device    *Device             // nil before the first message; set under mu, and read without it by the reader and later
	ended     bool                // over is closed; nothing is entered any more. Guarded by mu, as is the rest
	processes map[uint32]*process // by the client's numbers
	objects   map[uint32]*object  // by the server's
	last      uint32              // number of an object
	calls     map[uint32]*call    // under way, by the client's numbers
}

// run serves the client until its connection ends, and ends all that it has. The error is of a client that broke a
// rule.
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

// refuse tells why a client is not served, if the socket takes it.
func (c *session) refuse(why error) {
	text := []byte(why.Error())
	f := &frame{kind: kindRefused, errno: errnoOf(why), data: text[:min(len(text), maxReason)]}
	_ = c.link.send(f) // it may have gone
}

// greet answers the first message.
func (c *session) greet() error {
	if err := c.link.conn.SetReadDeadline(time.Now().Add(c.server.cfg.Patience)); err != nil {
		return err
	}
	f, _, err := c.link.receive() // a HELLO has no descriptors
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
		c.refuse(fmt.Errorf("the daemon speaks version %d of the protocol and gorxe run version %d: "+
			"they must be of one release: %w", version, h.Version, uapi.EPROTONOSUPPORT))
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
	c.working.Go(c.tellNews)
	return nil
}

// find returns the device that a client asks for.
func (s *Server) find(r Request) (*Device, error) {
	if r.NetNS != "" && r.NetNS != s.cfg.NetNS {
		return nil, fmt.Errorf("the daemon is in network namespace %s, not in %s: name its socket with --socket to use it: %w",
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

// changed lets the client be told the description if it is that of its device.
func (c *session) changed(device string) {
	c.mu.Lock()
	d := c.device
	c.mu.Unlock()
	if d == nil || d.Describe().DeviceName != device {
		return
	}
	select {
	case c.news <- struct{}{}:
	default: // it is about to be told
	}
}

func (c *session) tellNews() {
	for {
		select {
		case <-c.over:
			return
		case <-c.news:
			c.send(&frame{kind: kindChanged, data: encode(c.device.Describe())})
		}
	}
}

// send sends a message. If that fails the connection ends.
func (c *session) send(f *frame, files ...int) {
	if err := c.link.send(f, files...); err != nil {
		_ = c.link.close() // the reader finds out
	}
}

// next answers the next message of the client.
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
	return fmt.Errorf("broker: %v comes only first", f.kind)
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

// exit drops what a process has opened: from then on the last descriptor ends it.
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

// exec answers EXEC when direct copies of the memory of the process have ended. They take as long as that lets them.
func (c *session) exec(f *frame) {
	if err := c.server.quota.take(Calls, c.from.uid, &c.counts); err != nil {
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
		c.server.quota.give(Calls, c.from.uid, &c.counts)
		c.send(&frame{kind: kindReply, call: call})
	})
}

// end ends all that the client has.
func (c *session) end() {
	_ = c.link.close() // it may be closed
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
	// Each waits for its own calls, so one that hangs holds none of the others.
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
	type key struct { // a process that executes another program is another one for people
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

// cancel asks a call to end, as a signal came for its caller.
func (c *session) cancel(number uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.calls[number]; x != nil { // it may be answered
		x.stop()
	}
}

// begin answers CALL in a goroutine of its own. A call that cannot begin is answered by the goroutine that receives, so
// that a client that does not read the answers cannot make many of them wait.
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

// enterCall enters a new call on an object. It returns nil for a number that is in use.
func (c *session) enterCall(f *frame) (*call, *object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[f.call] != nil {
		return nil, nil, nil
	}
	o := c.objects[f.object]
	if o == nil || o.opened == nil { // it has just ended, or it never was
		return nil, nil, fmt.Errorf("object %d: %w", f.object, uapi.EBADF)
	}
	if o.process != f.process { // the call would read and write the memory of another process
		return nil, nil, fmt.Errorf("object %d is of another process: %w", f.object, uapi.EPERM)
	}
	if err := c.server.quota.take(Calls, c.from.uid, &c.counts); err != nil {
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
