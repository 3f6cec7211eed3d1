//go:build linux

package ucma

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// portKey identifies a port.
type portKey struct {
	ps   verbs.PortSpace
	port uint16
}

// bindPort assigns an address and a port to the identifier; port 0 means any free port. The caller
// holds mu.
func (i *ident) bindPort(at netip.AddrPort) error {
	s := i.server
	if at.Port() != 0 {
		if err := i.conflict(at); err != nil {
			return err
		}
	} else {
		free := false
		for range 1 << 10 {
			at = netip.AddrPortFrom(at.Addr(), verbs.EphemeralPort())
			if free = len(s.ports[portKey{i.ps, at.Port()}]) == 0; free {
				break
			}
		}
		if !free {
			return fmt.Errorf("no port is free: %w", uapi.EADDRNOTAVAIL)
		}
	}
	k := portKey{i.ps, at.Port()}
	s.ports[k] = append(s.ports[k], i)
	i.local, i.portBound = at, true
	return nil
}

// conflict returns an error if at conflicts with the address of another identifier on the same port
// (cma_check_port of the kernel).
func (i *ident) conflict(at netip.AddrPort) error {
	for _, o := range i.server.ports[portKey{i.ps, at.Port()}] {
		mine, theirs := at.Addr(), o.local.Addr()
		switch {
		case o == i || i.reuseAddr && o.reuseAddr && o.state != listening:
		case i.afOnly && o.afOnly && mine.Is4() != theirs.Is4():
		case mine.IsUnspecified() || theirs.IsUnspecified():
			return fmt.Errorf("port %d is in use: %w", at.Port(), uapi.EADDRNOTAVAIL)
		case mine == theirs:
			return fmt.Errorf("%v is in use: %w", at, uapi.EADDRINUSE)
		}
	}
	return nil
}

// release releases the port. The caller holds mu.
func (i *ident) release() {
	if !i.portBound {
		return
	}
	i.portBound = false
	s, k := i.server, portKey{i.ps, i.local.Port()}
	s.ports[k] = slices.DeleteFunc(s.ports[k], func(o *ident) bool { return o == i })
	if len(s.ports[k]) == 0 {
		delete(s.ports, k)
	}
}

// entry returns the entry of the GID table with the address a, and false if there is none.
func (s *Server) entry(a netip.Addr) (verbs.GIDEntry, bool) {
	a = a.Unmap().WithZone("")
	for _, g := range s.dev.GIDs() {
		if g.Addr.WithZone("") == a {
			return g, true
		}
	}
	return verbs.GIDEntry{}, false
}

// sockaddr converts an address to the form for programs, in which the zone is an interface index.
func sockaddr(a netip.AddrPort) netip.AddrPort {
	if zone := a.Addr().Zone(); zone != "" {
		if i, err := net.InterfaceByName(zone); err == nil {
			return netip.AddrPortFrom(a.Addr().WithZone(strconv.Itoa(i.Index)), a.Port())
		}
	}
	return a
}
