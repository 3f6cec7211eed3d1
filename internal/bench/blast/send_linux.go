package blast

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sendUntil sends trains until done has something, which it returns.
func sendUntil(to netip.Addr, port uint16, c Config, done <-chan error) error {
	family, sa := sockaddr(to, port)
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a UDP socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, sa); err != nil {
		return fmt.Errorf("connecting a UDP socket to %v: %w", to, err)
	}
	if n := c.train(); n > 1 {
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, c.Segment); err != nil {
			return fmt.Errorf("UDP_SEGMENT of %d bytes: %w", c.Segment, err)
		}
	}
	var over atomic.Bool
	result := make(chan error, 1)
	go func() {
		result <- <-done
		over.Store(true)
	}()
	msgs := c.messages()
	for !over.Load() {
		err := send(fd, msgs)
		switch {
		case errors.Is(err, unix.ECONNREFUSED): // the receiver has ended; its word is on the way
		case err != nil && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ENOBUFS):
			return fmt.Errorf("sending %d bytes in segments of %d to %v: %w", c.Segment*c.train(), c.Segment, to, err)
		}
	}
	return <-result
}

func sockaddr(a netip.Addr, port uint16) (family int, sa unix.Sockaddr) {
	if a.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: a.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}
}
