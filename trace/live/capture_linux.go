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

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/trace/capture"
)

const (
	maxFrame  = 1 << 18  // bytes
	maxOOB    = 256      // bytes of control messages, which contain the receive time and a VLAN tag
	queueSize = 16 << 20 // socket receive buffer in bytes
)

// Capture is a live capture, a trace.Source. Close may be called concurrently; other methods must
// be called from one goroutine at a time.
type Capture struct {
	conn     *packet.Conn
	raw      syscall.RawConn
	name     string
	loopback bool
	ethernet bool   // frames begin with an Ethernet header; else with an IP header
	buf, oob []byte // buf begins with space for a VLAN tag
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
	ethernet, err := isEthernet(name)
	if err != nil {
		return nil, fmt.Errorf("capturing on %s: %w", name, err)
	}
	filter, err := filterFor(ethernet, loopback)
	if err != nil {
		return nil, err
	}
	kind := packet.Datagram
	if ethernet {
		kind = packet.Raw
	}
	conn, err := packet.Listen(ifi, kind, unix.ETH_P_ALL, &packet.Config{Filter: filter})
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("capturing on %s requires CAP_NET_RAW: run as root, grant it (setcap cap_net_raw+ep), or pipe a capture: sudo tcpdump -i %[1]s -w - | gorxe trace", name)
	}
	if err != nil {
		return nil, fmt.Errorf("capturing on %s: %w", name, err)
	}
	c := &Capture{conn: conn, name: name, loopback: loopback, ethernet: ethernet, buf: make([]byte, vlanLen+maxFrame),
		oob: make([]byte, maxOOB), idle: idle}
	if c.idle == nil {
		c.idle = func() {}
	}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("capturing on %s: %w", name, err), conn.Close())
	}
	if ethernet && !loopback {
		_ = conn.SetPromiscuous(true) // until conn is closed; an interface that cannot still captures its own
	}
	return c, nil
}

// isEthernet reports whether frames of the interface have Ethernet headers. Frames of the loopback
// have, too, with zero addresses.
func isEthernet(name string) (bool, error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return false, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, ifr)
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return false, fmt.Errorf("type of the interface: %w", err)
	}
	kind := ifr.Uint16() // sa_family: an ARPHRD_ constant of linux/if_arp.h
	return kind == unix.ARPHRD_ETHER || kind == unix.ARPHRD_LOOPBACK, nil
}

// prepare enables receive timestamps and VLAN tags and enlarges the receive buffer.
func (c *Capture) prepare() (err error) {
	if c.raw, err = c.conn.SyscallConn(); err != nil {
		return err
	}
	serr := error(nil)
	err = c.raw.Control(func(fd uintptr) {
		serr = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
			unix.SetsockoptInt(int(fd), unix.SOL_PACKET, unix.PACKET_AUXDATA, 1))
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
		at, tag := readControl(c.oob[:oobn])
		*f = capture.Frame{Number: c.frames, Time: at, Link: capture.LinkRaw, Interface: c.name, Length: n,
			Data: c.buf[vlanLen:min(vlanLen+n, len(c.buf))]}
		if c.ethernet {
			f.Link = capture.LinkEthernet
			if tag.present {
				c.insert(f, tag)
			}
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && !c.loopback {
			f.Direction = directionOf(l.Pkttype)
		}
		return nil
	}
}

// directionOf returns the direction for a packet type of linux/if_packet.h. Frames to other hosts,
// which an interface in promiscuous mode receives, have none.
func directionOf(packetType uint8) capture.Direction {
	switch packetType {
	case unix.PACKET_HOST, unix.PACKET_BROADCAST, unix.PACKET_MULTICAST:
		return capture.Inbound
	case unix.PACKET_OUTGOING:
		return capture.Outbound
	}
	return capture.Unknown
}

// insert puts the VLAN tag, which the kernel removed, into the frame in buf.
func (c *Capture) insert(f *capture.Frame, t vlanTag) {
	if len(f.Data) < typeAt {
		return
	}
	copy(c.buf, f.Data[:typeAt])
	binary.BigEndian.PutUint16(c.buf[typeAt:], t.protocol)
	binary.BigEndian.PutUint16(c.buf[typeAt+2:], t.control)
	f.Data = c.buf[:vlanLen+len(f.Data)]
	f.Length += vlanLen
}

// receive waits for a frame. n is its length, which may exceed that of buf after the space for a
// VLAN tag; oobn is the length of the control messages in oob.
func (c *Capture) receive() (n, oobn int, from unix.Sockaddr, err error) {
	rerr := c.raw.Read(func(fd uintptr) bool {
		n, oobn, _, from, err = unix.Recvmsg(int(fd), c.buf[vlanLen:], c.oob, unix.MSG_DONTWAIT|unix.MSG_TRUNC)
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
