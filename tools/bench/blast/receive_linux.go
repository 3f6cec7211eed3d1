package blast

import (
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiver is a UDP socket that receives whole trains.
type receiver struct {
	fd, port int
}

// Requested size of the socket's buffer, in bytes, and interval at which the clock is checked if
// nothing arrives.
const (
	receiveBuffer = 32 << 20
	recvTimeout   = 100 * time.Millisecond
)

func listen(at netip.Addr) (*receiver, error) {
	family, sa := sockaddr(at, 0)
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a UDP socket: %w", err)
	}
	r := &receiver{fd: fd}
	if err := r.configure(sa); err != nil {
		r.close()
		return nil, fmt.Errorf("a UDP socket at %v: %w", at, err)
	}
	return r, nil
}

func (r *receiver) configure(sa unix.Sockaddr) error {
	if unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer); err != nil {
			return err
		}
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
		return err
	}
	tv := unix.NsecToTimeval(recvTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(r.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return err
	}
	if err := unix.Bind(r.fd, sa); err != nil {
		return err
	}
	name, err := unix.Getsockname(r.fd)
	if err != nil {
		return err
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		r.port = a.Port
	case *unix.SockaddrInet6:
		r.port = a.Port
	}
	return nil
}

func (r *receiver) close() { unix.Close(r.fd) }

// batch is the number of trains that one call receives, each up to trainRoom bytes long.
const (
	batch     = 16
	trainRoom = 1 << 16
)

// count receives until the counted time is over. The clock starts with the first datagram.
func (r *receiver) count(c Config) (Result, error) {
	if c.ICRC {
		return r.countChecked(c)
	}
	var msgs [batch]message
	var iovs [batch]unix.Iovec
	room := make([]byte, batch*trainRoom)
	for i := range msgs {
		iovs[i].Base = &room[i*trainRoom]
		iovs[i].SetLen(trainRoom)
		msgs[i] = newMessage(&iovs[i])
	}
	var res Result
	var from time.Time // when counting begins
	give := time.Now().Add(limit)
	for {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(r.fd), uintptr(unsafe.Pointer(&msgs)), batch,
			unix.MSG_WAITFORONE, 0, 0)
		now := time.Now()
		switch {
		case errno == unix.EAGAIN || errno == unix.EINTR:
			if from.IsZero() && now.After(give) {
				return res, errNothing
			}
			n = 0
		case errno != 0:
			return res, fmt.Errorf("receiving: %w", errno)
		case from.IsZero():
			from = now.Add(c.Warm)
		}
		if from.IsZero() || now.Before(from) {
			continue
		}
		if took := now.Sub(from); took >= c.Time {
			res.Seconds = took.Seconds()
			return res, nil
		}
		res.Calls++
		for i := range msgs[:n] {
			res.Bytes += uint64(msgs[i].len)
			res.Segments += c.segments(int(msgs[i].len))
		}
	}
}
