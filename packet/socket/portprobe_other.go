//go:build !linux

package socket

import (
	"errors"
	"net/netip"
)

// PortProbe requires Linux, whose sockets report the datagram that an ICMP error refers to.
type PortProbe struct{}

// OpenPortProbe always fails on this system.
func OpenPortProbe(local, remote netip.Addr) (*PortProbe, error) {
	return nil, errors.ErrUnsupported
}

// SrcPort always returns 0.
func (p *PortProbe) SrcPort() uint16 { return 0 }

// Send always fails.
func (p *PortProbe) Send(b []byte) error { return errors.ErrUnsupported }

// Refused always fails.
func (p *PortProbe) Refused(n int) (bool, error) { return false, errors.ErrUnsupported }

// Close does nothing.
func (p *PortProbe) Close() error { return nil }
