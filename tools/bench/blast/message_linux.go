package blast

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is struct mmsghdr.
type message struct {
	hdr unix.Msghdr
	len uint32
}

func newMessage(iov *unix.Iovec) message {
	m := message{hdr: unix.Msghdr{Iov: iov}}
	m.hdr.SetIovlen(1)
	return m
}

// whole is the control message of a datagram that must not be segmented although UDP_SEGMENT is
// set for its socket.
type whole struct {
	hdr  unix.Cmsghdr
	size uint16
	_    [6]byte
}

func newWhole() *whole {
	w := &whole{}
	w.hdr.Level, w.hdr.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	w.hdr.SetLen(unix.CmsgLen(int(unsafe.Sizeof(w.size))))
	return w
}

// leads is the number of trains, each preceded by a single datagram, that one call sends; gorxe
// sends as many per call for WRITEs of 64 KiB.
const leads = 4

// messages returns what is sent repeatedly: a train, or several, each preceded by a single
// datagram.
func (c Config) messages() []message {
	room := make([]byte, max(c.Lead, c.Segment*c.train()))
	train := &unix.Iovec{Base: &room[0]}
	train.SetLen(c.Segment * c.train())
	if c.Lead == 0 {
		return []message{newMessage(train)}
	}
	lead := &unix.Iovec{Base: &room[0]}
	lead.SetLen(c.Lead)
	uncut := newWhole()
	var msgs []message
	for range leads {
		m := newMessage(lead)
		m.hdr.Control = (*byte)(unsafe.Pointer(uncut))
		m.hdr.SetControllen(int(unsafe.Sizeof(*uncut)))
		msgs = append(msgs, m, newMessage(train))
	}
	return msgs
}

// send sends msgs, as many of them as possible, in one call.
func send(fd int, msgs []message) error {
	_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])),
		uintptr(len(msgs)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// sendRaw sends msgs, as many of them as possible, in one call, and returns their number. It
// bypasses the Go runtime, which would hand the processor (P) to another thread if a call took
// longer than 20 µs.
func sendRaw(fd int, msgs []message, flags uintptr) (int, error) {
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])),
		uintptr(len(msgs)), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), nil
}
