package blast

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// dial returns a socket that is connected to port of to and sends trains if c has any. With
// Config.AsLink it is neither: see [Config.asLink].
func (c Config) dial(to netip.Addr, port uint16) (fd int, err error) {
	family, sa := sockaddr(to, port)
	if fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("opening a UDP socket: %w", err)
	}
	if c.AsLink {
		return fd, nil
	}
	if err = unix.Connect(fd, sa); err != nil {
		err = fmt.Errorf("connecting a UDP socket to %v: %w", to, err)
	} else if c.train() > 1 {
		if err = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, c.Segment); err != nil {
			err = fmt.Errorf("UDP_SEGMENT of %d bytes: %w", c.Segment, err)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sendUntil sends until done yields a value, which it returns.
func sendUntil(to netip.Addr, port uint16, c Config, done <-chan error) error {
	fd, err := c.dial(to, port)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var over atomic.Bool
	result := make(chan error, 1)
	go func() {
		result <- <-done
		over.Store(true)
	}()
	switch {
	case c.reliable():
		err = sendLossy(fd, c, over.Load)
	case c.ICRC:
		err = sendChecked(fd, netip.AddrPortFrom(to, port), c, over.Load)
	default:
		err = c.sendBare(fd, over.Load)
	}
	if err != nil {
		return fmt.Errorf("sending %d bytes in segments of %d to %v: %w", c.Segment*c.train(), c.Segment, to, err)
	}
	return <-result
}

// sendBare sends trains until over returns true.
func (c Config) sendBare(fd int, over func() bool) error {
	msgs := c.messages()
	for !over() {
		if err := refusal(send(fd, msgs)); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns an error of send, except a transient one.
func refusal(err error) error {
	switch {
	case err == nil, errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOBUFS):
		return nil
	case errors.Is(err, unix.ECONNREFUSED): // the receiver has ended; its result is on the way
		return nil
	}
	return err
}

func sockaddr(a netip.Addr, port uint16) (family int, sa unix.Sockaddr) {
	if a.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: a.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}
}
