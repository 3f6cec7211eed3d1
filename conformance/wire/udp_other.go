//go:build !linux

package wire

import (
	"errors"
	"net/netip"
)

// ListenUDP returns an error: the tester needs socket options of Linux.
func ListenUDP(netip.Addr) (Link, error) {
	return nil, errLinux
}

// ListenRaw returns an error: packet sockets are sockets of Linux.
func ListenRaw(netip.Addr) (Link, error) { return nil, errLinux }

var errLinux = errors.New("the conformance tester runs on Linux only")

// OtherAddr returns an error, as there are no links.
func OtherAddr(Link, netip.Addr) (netip.Addr, error) { return netip.Addr{}, errLinux }
