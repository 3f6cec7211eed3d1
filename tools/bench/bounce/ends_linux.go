package bounce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// end is one of the two ends with its connection to the other.
type end struct {
	conn    *net.TCPConn
	in      *json.Decoder
	udp     int
	port    int // of udp
	program []string
	stop    atomic.Bool
}

// Serve runs the device of the server for one client that connects to l. program is the command
// that runs [Program]; the device adds arguments and descriptors. Serve returns nil when the
// client is done, and an error if either end or its program ends earlier.
func Serve(ctx context.Context, l net.Listener, program []string) error {
	unhook := context.AfterFunc(ctx, func() { l.Close() })
	conn, err := l.Accept()
	unhook()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("waiting for a client: %w", err)
	}
	e, err := newEnd(conn, program)
	if err != nil {
		return err
	}
	defer e.close()
	defer context.AfterFunc(ctx, func() { e.stop.Store(true) })()
	if err := e.serve(); err != nil {
		e.say(reportOf(err)) // the client may have ended
		return err
	}
	return nil
}

func (e *end) serve() error {
	if err := e.say(hello{e.port}); err != nil {
		return err
	}
	var p plan
	if err := e.in.Decode(&p); err != nil {
		return fmt.Errorf("the client's plan: %w", err)
	}
	if err := p.Way.check(); err != nil {
		return fmt.Errorf("the client's plan: %w", err)
	}
	if err := e.connect(p.Port, p.Way); err != nil {
		return err
	}
	_, err := e.exchange(Config{Way: p.Way}, func() error { return e.say(report{}) })
	if !errors.Is(err, errPeer) {
		return err
	}
	return e.heard("client")
}

// Call runs the device of the client: it measures with the server at the other end of conn, which
// it closes. program is as for [Serve].
func Call(ctx context.Context, conn net.Conn, c Config, program []string) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, errors.Join(err, conn.Close())
	}
	e, err := newEnd(conn, program)
	if err != nil {
		return Result{}, err
	}
	defer e.close()
	defer context.AfterFunc(ctx, func() { e.stop.Store(true) })()
	r, err := e.call(c)
	e.say(reportOf(err)) // the server may have ended
	sendRaw(e.udp, overWord)
	return r, err
}

func (e *end) call(c Config) (Result, error) {
	var h hello
	if err := e.in.Decode(&h); err != nil {
		return Result{}, fmt.Errorf("the server's UDP port: %w", err)
	}
	if err := e.connect(h.Port, c.Way); err != nil {
		return Result{}, err
	}
	if err := e.say(plan{c.Way, e.port}); err != nil {
		return Result{}, err
	}
	if err := e.heard("server"); err != nil {
		return Result{}, err
	}
	d, err := e.exchange(c, func() error { return nil })
	if errors.Is(err, errPeer) {
		if err = e.heard("server"); err == nil {
			err = errors.New("the server says that it is done before its client is")
		}
	}
	if err != nil {
		return Result{}, err
	}
	return c.result(d.times, d.resent), nil
}

// exchange exchanges messages: a client the number in c, a server, whose c has none, until the
// client ends. It calls ready before the first one.
func (e *end) exchange(c Config, ready func() error) (d *device, err error) {
	d = &device{exchange: exchange{client: c.Messages > 0, acks: c.Way.acks()}, way: c.Way, udp: e.udp, stop: &e.stop}
	if c.Way.sends() {
		d.sends = newSends()
	}
	if d.client {
		d.last = uint64(c.Warm + c.Messages)
		d.times = make([]int64, 0, d.last+1)
	}
	raw, err := e.conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { d.peer = int(fd) }) // open until close
	}
	if err != nil {
		return nil, fmt.Errorf("the descriptor of a TCP connection: %w", err)
	}
	return d, onThread(func() error {
		if c.Way.alone() {
			return d.begin(ready)
		}
		var err error
		if d.program, err = startChild(e.program, c.Way, d.client); err != nil {
			return err
		}
		if err = d.begin(ready); err == errProgram {
			err = d.program.ended()
		}
		if cerr := d.program.close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("closing the descriptors of the program: %w", cerr))
		}
		return err
	})
}

// newEnd returns an end, with a UDP socket at the local address of conn. In case of an error it
// closes conn.
func newEnd(conn net.Conn, program []string) (*end, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no TCP connection", conn), conn.Close())
	}
	e := &end{conn: tcp, in: json.NewDecoder(tcp), udp: -1, program: program}
	e.conn.SetDeadline(time.Now().Add(limit))
	if err := e.bind(); err != nil {
		e.close()
		return nil, fmt.Errorf("a UDP socket at %v: %w", conn.LocalAddr(), err)
	}
	return e, nil
}

func (e *end) bind() (err error) {
	family, sa := sockaddr(e.conn.LocalAddr(), 0)
	if e.udp, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Bind(e.udp, sa); err != nil {
		return err
	}
	name, err := unix.Getsockname(e.udp)
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		e.port = a.Port
	case *unix.SockaddrInet6:
		e.port = a.Port
	}
	return err
}

// connect connects the UDP socket to a port of the peer. If the device waits by receiving, a
// receive times out after recvTimeout.
func (e *end) connect(port int, w Way) error {
	if port < 1 || port > 65535 {
		return fmt.Errorf("the peer's UDP port is %d, which there is not", port)
	}
	_, sa := sockaddr(e.conn.RemoteAddr(), port)
	if err := unix.Connect(e.udp, sa); err != nil {
		return fmt.Errorf("connecting a UDP socket to port %d of %v: %w", port, e.conn.RemoteAddr(), err)
	}
	if w.sends() {
		if err := trains(e.udp); err != nil {
			return err
		}
	}
	if !w.alone() {
		return nil
	}
	tv := unix.NsecToTimeval(recvTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(e.udp, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return fmt.Errorf("SO_RCVTIMEO of a UDP socket: %w", err)
	}
	return nil
}

// sockaddr returns the address of a TCP connection's end with another port.
func sockaddr(at net.Addr, port int) (family int, sa unix.Sockaddr) {
	var a netip.Addr
	if tcp, ok := at.(*net.TCPAddr); ok {
		a = tcp.AddrPort().Addr().Unmap()
	}
	if a.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: a.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: a.As16()}
}

// say sends a message to the peer over TCP.
func (e *end) say(what any) error {
	e.conn.SetDeadline(time.Now().Add(limit))
	if err := json.NewEncoder(e.conn).Encode(what); err != nil {
		return fmt.Errorf("telling the peer over TCP: %w", err)
	}
	return nil
}

// heard returns the error that the peer reports.
func (e *end) heard(peer string) error {
	e.conn.SetDeadline(time.Now().Add(limit))
	var r report
	err := e.in.Decode(&r)
	return r.err(peer, err)
}

func (e *end) close() {
	e.conn.Close()
	if e.udp >= 0 {
		unix.Close(e.udp)
	}
}
