package socket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel replaces the sending side of the kernel and records what it accepts.
type kernel struct {
	// verdict decides about a message: 0 accepts it. segment is 0 for a single frame.
	verdict func(m sentMessage) unix.Errno
	most    int // maximum number of messages accepted per call, 0: all
	calls   int
	waits   int  // number of times the link waited for space
	due     bool // a deadline is set
	stuck   bool // there never is space: waiting ends at the deadline
	got     []sentMessage
}

type sentMessage struct {
	dst     netip.AddrPort
	data    string
	segment int
	control []string // other control messages
}

func (m sentMessage) String() string {
	s := fmt.Sprintf("%v %d bytes", m.dst, len(m.data))
	if m.segment > 0 {
		s += fmt.Sprintf(" in segments of %d", m.segment)
	}
	for _, c := range m.control {
		s += ", " + c
	}
	return s
}

func (k *kernel) send(_ uintptr, msgs []mmsghdr) (int, unix.Errno) {
	k.calls++
	for i := range msgs {
		if k.most > 0 && i == k.most {
			return i, 0
		}
		m := readMessage(&msgs[i].hdr)
		if errno := k.verdict(m); errno != 0 {
			if i > 0 {
				return i, 0
			}
			return -1, errno
		}
		k.got = append(k.got, m)
	}
	return len(msgs), 0
}

func readMessage(h *unix.Msghdr) (m sentMessage) {
	addr, port := getSockaddr((*sockaddr)(unsafe.Pointer(h.Name)))
	m.dst = netip.AddrPortFrom(addr, port)
	for _, v := range unsafe.Slice(h.Iov, h.Iovlen) {
		m.data += string(unsafe.Slice(v.Base, v.Len))
	}
	if h.Controllen == 0 {
		return m
	}
	list, err := unix.ParseSocketControlMessage(unsafe.Slice(h.Control, h.Controllen))
	if err != nil {
		panic(err)
	}
	for _, c := range list {
		switch {
		case c.Header.Level == unix.SOL_UDP && c.Header.Type == unix.UDP_SEGMENT:
			m.segment = int(binary.NativeEndian.Uint16(c.Data))
		default:
			m.control = append(m.control,
				fmt.Sprintf("option %d/%d = %d", c.Header.Level, c.Header.Type, binary.NativeEndian.Uint32(c.Data)))
		}
	}
	return m
}

// rawConn is a socket that is always ready.
type rawConn struct {
	k   *kernel
	err error // of Write
}

func (c *rawConn) Control(f func(uintptr)) error   { f(0); return nil }
func (c *rawConn) Read(f func(uintptr) bool) error { return errors.New("no reading here") }
func (c *rawConn) Write(f func(uintptr) bool) error {
	if c.err != nil {
		return c.err
	}
	for !f(0) {
		c.k.waits++
		if c.k.stuck && c.k.due {
			return os.ErrDeadlineExceeded
		}
	}
	return nil
}

func (k *kernel) setDeadline(t time.Time) error {
	k.due = !t.IsZero()
	return nil
}

func (k *kernel) link(addr string) *udp {
	if k.verdict == nil {
		k.verdict = func(sentMessage) unix.Errno { return 0 }
	}
	a := netip.MustParseAddr(addr)
	l := &udp{udpSocket: udpSocket{addr: a, bare: a.WithZone(""), raw: &rawConn{k: k}}}
	l.SetMTU(9000)
	l.gso.Store(gsoOn)
	l.tx.init(k.send, k.setDeadline)
	return l
}

// messages describes what the kernel accepted since the last call.
func (k *kernel) messages() (s []string) {
	for _, m := range k.got {
		s = append(s, m.String())
	}
	k.got = nil
	return s
}
