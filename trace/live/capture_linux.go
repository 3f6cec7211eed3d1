package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/trace/capture"
)

const (
	maxFrame  = 1 << 18  // bytes
	maxOOB    = 256      // bytes of control messages, which contain the receive time
	queueSize = 16 << 20 // socket receive buffer in bytes
)

// Capture is a live capture, a trace.Source. Close may be called concurrently; other methods must
// be called from one goroutine at a time.
type Capture struct {
	conn     *packet.Conn
	raw      syscall.RawConn
	name     string
	loopback bool
	buf, oob []byte
	idle     func()
	frames   int
	closed   atomic.Bool
	missed   atomic.Uint64 // result of Dropped
}

// Open starts a capture on the network interface name. If idle is not nil, it is called each time
// before Next blocks.
func Open(name string, idle func()) (*Capture, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("there is no network interface %q; there are %s", name, interfaces())
	}
	loopback := ifi.Flags&net.FlagLoopback != 0
	filter, err := filterFor(netOff, loopback)
	if err != nil {
		return nil, err
	}
	conn, err := packet.Listen(ifi, packet.Datagram, unix.ETH_P_ALL, &packet.Config{Filter: filter})
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("capturing on %s requires CAP_NET_RAW: run as root, grant it (setcap cap_net_raw+ep), or pipe a capture: sudo tcpdump -i %[1]s -w - udp port 4791 | gorxe trace", name)
	}
	if err != nil {
		return nil, fmt.Errorf("capturing on %s: %w", name, err)
	}
	c := &Capture{conn: conn, name: name, loopback: loopback, buf: make([]byte, maxFrame),
		oob: make([]byte, maxOOB), idle: idle}
	if c.idle == nil {
		c.idle = func() {}
	}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("capturing on %s: %w", name, err), conn.Close())
	}
	return c, nil
}

// prepare enables receive timestamps and enlarges the receive buffer.
func (c *Capture) prepare() (err error) {
	if c.raw, err = c.conn.SyscallConn(); err != nil {
		return err
	}
	serr := error(nil)
	err = c.raw.Control(func(fd uintptr) {
		serr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, queueSize) != nil {
			// Without CAP_NET_ADMIN the kernel limits the size to net.core.rmem_max.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, queueSize)
		}
	})
	return errors.Join(err, serr)
}

// interfaces returns the names of the host's interfaces.
func interfaces() string {
	all, err := net.Interfaces()
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return strings.Join(names, ", ")
}

// Next waits for a frame and reads it into f. It returns io.EOF after Close.
func (c *Capture) Next(f *capture.Frame) error {
	for {
		n, oobn, from, err := c.receive()
		switch {
		case err != nil && c.closed.Load():
			return io.EOF
		case errors.Is(err, unix.ENETDOWN), errors.Is(err, unix.EINTR):
			continue // the interface may come up again
		case err != nil:
			return fmt.Errorf("capturing on %s: %w", c.name, err)
		}
		c.frames++
		*f = capture.Frame{
			Number: c.frames, Time: timestamp(c.oob[:oobn]), Link: capture.LinkRaw, Interface: c.name,
			Length: n, Data: c.buf[:min(n, len(c.buf))],
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && !c.loopback {
			f.Direction = capture.Inbound
			if l.Pkttype == unix.PACKET_OUTGOING {
				f.Direction = capture.Outbound
			}
		}
		return nil
	}
}

// receive waits for a frame. n is its length, which may exceed that of buf; oobn is the length of
// the control messages in oob.
func (c *Capture) receive() (n, oobn int, from unix.Sockaddr, err error) {
	rerr := c.raw.Read(func(fd uintptr) bool {
		n, oobn, _, from, err = unix.Recvmsg(int(fd), c.buf, c.oob, unix.MSG_DONTWAIT|unix.MSG_TRUNC)
		if errors.Is(err, unix.EAGAIN) {
			c.idle()
			return false
		}
		return true
	})
	if rerr != nil {
		err = rerr
	}
	return n, oobn, from, err
}

// timestamp returns the kernel's receive time of a frame, or the current time if there is none.
func timestamp(oob []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return time.Now()
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_SOCKET || m.Header.Type != unix.SCM_TIMESTAMPNS {
			continue
		}
		switch ne := binary.NativeEndian; len(m.Data) { // struct timespec, two machine words
		case 16:
			return time.Unix(int64(ne.Uint64(m.Data)), int64(ne.Uint64(m.Data[8:])))
		case 8:
			return time.Unix(int64(int32(ne.Uint32(m.Data))), int64(int32(ne.Uint32(m.Data[4:]))))
		}
	}
	return time.Now()
}

// Dropped returns the number of frames that the kernel has dropped because they were not read in
// time. After Close it is the number until Close.
func (c *Capture) Dropped() uint64 {
	// PACKET_STATISTICS resets the kernel's counters.
	if s, err := c.conn.Stats(); err == nil {
		c.missed.Add(uint64(s.Drops))
	}
	return c.missed.Load()
}

// Close ends the capture.
func (c *Capture) Close() error {
	c.Dropped()
	c.closed.Store(true)
	return c.conn.Close()
}
