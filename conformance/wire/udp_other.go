//go:build !linux

package wire

import (
	"errors"
	"net/netip"
)

// ListenUDP returns an error: the tester needs socket options of Linux.
func ListenUDP(netip.Addr) (Link, error) {
	return nil, errors.New("the conformance tester runs on Linux only")
}
