//go:build !linux

package socket

import (
	"errors"
	"net/netip"
)

// PortProbe needs Linux, whose sockets tell which datagram an ICMP error is about.
type PortProbe struct{}

// OpenPortProbe always fails here.
func OpenPortProbe(local, remote netip.Addr) (*PortProbe, error) {
	return nil, errors.ErrUnsupported
}

// SrcPort returns 0.
func (p *PortProbe) SrcPort() uint16 { return 0 }

// Send does nothing.
func (p *PortProbe) Send(b []byte) error { return errors.ErrUnsupported }

// Refused returns at once.
func (p *PortProbe) Refused(n int) (bool, error) { return false, errors.ErrUnsupported }

// Close does nothing.
func (p *PortProbe) Close() error { return nil }
