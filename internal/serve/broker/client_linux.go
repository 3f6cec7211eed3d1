package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// handshake is the timeout for the first answer of the server, and for the server to read each
// message.
const handshake = 10 * time.Second

// A Thread is a thread of a program whose call a [Client] forwards. Goroutines of the client call
// its methods.
type Thread interface {
	// Install gives the program a duplicate of f and returns its descriptor number there. From then
	// on, Find must return object for this descriptor and its duplicates.
	Install(f *os.File, object uint32, closeOnExec bool) (fd int, err error)
	// Find returns the object of the program's descriptor fd, 0 if there is none.
	Find(fd int32) (object uint32)
	// Answer ends the call: with errno if errno is not 0, else with the result. It is called once,
	// and must not block.
	Answer(result int64, errno unix.Errno)
}

// Events receives notifications of a [Client], which calls its methods from the receiving
// goroutine: they must not block.
type Events interface {
	// Ended reports that an object is no longer valid.
	Ended(object uint32)
	// Changed reports a new description of the device.
	Changed(d Description)
}

// ErrGone is the error of a server that closes the connection before it answers, because it is
// shutting down.
var ErrGone = errors.New("the daemon is shutting down")

// A RefusedError is the error of a server that rejects the client.
type RefusedError struct {
	Reason string
	Errno  unix.Errno
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Unwrap returns the error number.
func (e *RefusedError) Unwrap() error { return e.Errno }

// A Client forwards calls of programs to a [Server]. All methods are safe for concurrent use.
type Client struct {
	link        *link
	description Description
	done        chan struct{}
	err         error // why done is closed; nil after Close

	mu sync.Mutex
	// calls holds the calls in progress, by number; nil once done is closed. It is guarded by mu,
	// as are the fields below.
	calls  map[uint32]Thread
	opens  map[uint32]chan opened // likewise
	last   uint32                 // number of the last call
	closed bool
	unsent error // send error that ended the connection
}

// opened is the answer to an open.
type opened struct {
	object uint32
	file   *os.File
	err    error
}

// Dial connects to the server at a socket and requests a device. The client handles no messages
// before [Client.Start].
func Dial(ctx context.Context, socket string, r Request) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, socket)
	if err != nil {
		return nil, err
	}
	c := newClient(conn.(*net.UnixConn))
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = c.greet(r)
	if !stop() {
		err = cmp.Or(context.Cause(ctx), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func newClient(conn *net.UnixConn) *Client {
	return &Client{
		link: newLink(conn, false, handshake), done: make(chan struct{}),
		calls: map[uint32]Thread{}, opens: map[uint32]chan opened{},
	}
}

func (c *Client) greet(r Request) error {
	// A server that rejects the client may have closed the connection already; its reason is
	// received below.
	_ = c.link.send(&frame{kind: kindHello, data: encode(hello{version, r})})
	if err := c.link.conn.SetReadDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	f, files, err := c.link.receive()
	closeAll(files)
	switch {
	case errors.Is(err, io.EOF):
		return ErrGone
	case err != nil:
		return err
	case f.kind == kindRefused:
		return &RefusedError{string(f.data), unix.Errno(f.errno)}
	case f.kind != kindWelcome:
		return fmt.Errorf("broker: the first answer is %v", f.kind)
	}
	if c.description, err = decode[Description](f.data); err != nil {
		return err
	}
	return c.link.conn.SetReadDeadline(time.Time{})
}

// Description returns the description of the device at the time of the connection.
func (c *Client) Description() *Description { return &c.description }

// Start starts to receive messages.
func (c *Client) Start(e Events) { go c.run(e) }

// Done returns a channel that is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended: io.EOF if the server closed it, nil after
// [Client.Close]. It blocks until then.
func (c *Client) Err() error {
	<-c.done
	return c.err
}

// Close disconnects: the server ends all objects of the client.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if err := c.link.close(); !isClosed(err) { // the connection may have ended
		return err
	}
	return nil
}

// run receives messages until the connection ends. Then all calls in progress fail.
func (c *Client) run(e Events) {
	var err error
	for err == nil {
		err = c.next(e)
	}
	_ = c.link.close() // may be closed
	c.mu.Lock()
	if isClosed(err) {
		err = cmp.Or(c.unsent, err)
	}
	if !c.closed {
		c.err = err
	}
	calls, opens := c.calls, c.opens
	c.calls, c.opens = nil, nil
	close(c.done)
	c.mu.Unlock()
	for _, t := range calls {
		t.Answer(0, unix.EIO)
	}
	for _, o := range opens {
		o <- opened{err: unix.EIO}
	}
}

// next handles the next message of the server.
func (c *Client) next(e Events) error {
	f, files, err := c.link.receive()
	if err != nil {
		return err
	}
	switch f.kind {
	case kindReply:
		return c.reply(&f, files)
	case kindInstall, kindFind:
		c.mu.Lock()
		t := c.calls[f.call]
		c.mu.Unlock()
		if t == nil {
			closeAll(files)
			return fmt.Errorf("broker: %v of unknown call %d", f.kind, f.call)
		}
		// The thread may take long, which must not delay the answers to other calls.
		if f.kind == kindFind {
			go c.find(t, f.call, f.arg)
		} else {
			go c.install(t, f, os.NewFile(uintptr(files[0]), "installed"))
		}
		return nil
	case kindEnded:
		e.Ended(f.object)
		return nil
	case kindChanged:
		d, err := decode[Description](f.data)
		if err == nil {
			e.Changed(d)
		}
		return err
	}
	return fmt.Errorf("broker: %v after the handshake", f.kind)
}

// reply ends a call or an open.
func (c *Client) reply(f *frame, files []int) error {
	c.mu.Lock()
	t, o := c.calls[f.call], c.opens[f.call]
	delete(c.calls, f.call)
	delete(c.opens, f.call)
	c.mu.Unlock()
	switch {
	case o != nil && f.errno == 0 && len(files) == 1:
		o <- opened{object: f.object, file: os.NewFile(uintptr(files[0]), "device")}
		return nil
	case o != nil && f.errno != 0 && len(files) == 0:
		o <- opened{err: unix.Errno(f.errno)}
		return nil
	case t != nil && len(files) == 0:
		t.Answer(int64(f.arg), unix.Errno(f.errno))
		return nil
	}
	closeAll(files)
	if o != nil {
		o <- opened{err: unix.EIO}
	}
	return fmt.Errorf("broker: REPLY to call %d with %d descriptors", f.call, len(files))
}

func (c *Client) find(t Thread, call uint32, fd uint64) {
	var object uint32
	if fd < 1<<31 {
		object = t.Find(int32(fd))
	}
	c.send(&frame{kind: kindFound, call: call, object: object})
}

func (c *Client) install(t Thread, f frame, file *os.File) {
	fd, err := t.Install(file, f.object, f.flags&flagCloseOnExec != 0)
	_ = file.Close() // the program has a duplicate
	a := &frame{kind: kindInstalled, call: f.call, arg: uint64(fd)}
	if err != nil {
		a.arg, a.errno = 0, errnoOf(err)
	}
	c.send(a)
}

// send sends a message. An error ends the connection. If the server has closed the connection, the
// receiver notices that.
func (c *Client) send(f *frame, files ...int) {
	err := c.link.send(f, files...)
	if err == nil || errors.Is(err, io.EOF) || isClosed(err) {
		return
	}
	c.mu.Lock()
	c.unsent = cmp.Or(c.unsent, err)
	c.mu.Unlock()
	_ = c.link.close() // ends the receiver
}

// number returns a number that no call uses. The caller holds mu.
func (c *Client) number() uint32 {
	for {
		c.last = max(1, c.last+1)
		if c.calls[c.last] == nil && c.opens[c.last] == nil {
			return c.last
		}
	}
}

// Open opens a device file for a process, whose number the caller chooses from 1 up. dir is the
// directory of the process in /proc; mem and maps are files in it, opened while the thread of the
// program was waiting. Open does not close these files. It returns the file for the program and the
// number of the object.
func (c *Client) Open(process uint32, file File, dir, mem, maps *os.File) (*os.File, uint32, error) {
	answer := make(chan opened, 1)
	c.mu.Lock()
	if c.opens == nil {
		c.mu.Unlock()
		return nil, 0, unix.EIO
	}
	n := c.number()
	c.opens[n] = answer
	c.mu.Unlock()
	f := &frame{kind: kindOpen, call: n, process: process, cmd: uint32(file)}
	c.send(f, int(dir.Fd()), int(mem.Fd()), int(maps.Fd()))
	a := <-answer
	return a.file, a.object, a.err
}

// Call forwards a call of a process; t receives the answer. interrupt asks the server to end the
// call soon; it has no effect after the answer.
func (c *Client) Call(object, process uint32, what Call, t Thread) (interrupt func()) {
	c.mu.Lock()
	if c.calls == nil {
		c.mu.Unlock()
		t.Answer(0, unix.EIO)
		return func() {}
	}
	n := c.number()
	c.calls[n] = t
	c.mu.Unlock()
	f := &frame{
		kind: kindCall, call: n, object: object, process: process,
		cmd: what.Cmd, arg: what.Arg, size: what.Size, data: what.Data,
	}
	if what.Write {
		f.flags = flagWrite
	}
	if what.NonBlock {
		f.flags |= flagNonBlock
	}
	c.send(f)
	return func() {
		c.mu.Lock()
		mine := c.calls[n] == t
		c.mu.Unlock()
		if mine {
			c.send(&frame{kind: kindCancel, call: n})
		}
	}
}

// Exec reports that a process is about to execute another program. It returns when the server no
// longer copies the memory of the process by its PID, or when the connection has ended. It returns
// an error only if the server has too many calls in progress.
func (c *Client) Exec(process uint32) error {
	if errno := <-c.exec(process); errno != 0 && errno != unix.EIO {
		return errno
	}
	return nil
}

// Ping returns when the server has answered, when the connection has ended, or after timeout. A
// killed server closes its descriptors one after the other, so a program can notice that on one
// of them and end before the connection ends. [Client.Start] must have been called.
func (c *Client) Ping(timeout time.Duration) {
	const nobody = 0
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case <-c.exec(nobody):
	case <-late.C:
	}
}

// exec sends EXEC and returns a channel that receives the answer.
func (c *Client) exec(process uint32) execution {
	answer := make(execution, 1)
	c.mu.Lock()
	if c.calls == nil {
		c.mu.Unlock()
		answer <- unix.EIO
		return answer
	}
	n := c.number()
	c.calls[n] = answer
	c.mu.Unlock()
	c.send(&frame{kind: kindExec, call: n, process: process})
	return answer
}

// execution receives the answer to EXEC; EIO means that the connection has ended.
type execution chan unix.Errno

func (e execution) Answer(_ int64, errno unix.Errno) { e <- errno }

func (execution) Install(*os.File, uint32, bool) (int, error) { return 0, unix.EINVAL }

func (execution) Find(int32) uint32 { return 0 }

// Release reports that a program did not get an object.
func (c *Client) Release(object uint32) { c.send(&frame{kind: kindRelease, object: object}) }

// Exit reports that a process has ended.
func (c *Client) Exit(process uint32) { c.send(&frame{kind: kindExit, process: process}) }
