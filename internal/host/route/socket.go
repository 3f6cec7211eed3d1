package route

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// sockets answers queries with connected UDP sockets, which work on every system. They report the
// source address, which determines the interface, but no gateway, hop limit or route MTU.
type sockets struct{}

func (sockets) link(name string, index int) (link, error) {
	var ifc *net.Interface
	var err error
	if name != "" {
		ifc, err = net.InterfaceByName(name)
	} else {
		name = fmt.Sprintf("with index %d", index)
		ifc, err = net.InterfaceByIndex(index)
	}
	if err != nil {
		return link{}, fmt.Errorf("no network interface %s: %w", name, err)
	}
	return link{
		name: ifc.Name, index: ifc.Index, mtu: ifc.MTU, mtu6: ifc.MTU,
		up: ifc.Flags&net.FlagUp != 0, carrier: ifc.Flags&net.FlagRunning != 0,
	}, nil
}

func (sockets) hopLimit4() uint8 { return 0 }

func (sockets) lookup(q query) (answer, error) {
	// connect(2) of a UDP socket sends nothing; it only looks up the route.
	c, err := net.DialUDP("udp", udpAddr(q.src, 0, q.index), udpAddr(q.dst, 9, q.index))
	if err != nil {
		kind := Refused
		if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) {
			kind = NoRoute
		}
		return answer{}, &UnreachableError{Kind: kind, Err: err}
	}
	defer c.Close()
	a := answer{src: c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone("")}
	if a.index, err = owner(a.src, q.index); err != nil {
		return answer{}, err
	}
	if a.index == 0 {
		return answer{}, &UnreachableError{Kind: NoRoute, Err: syscall.ENETUNREACH}
	}
	local, err := owner(q.dst, q.index)
	switch {
	case err != nil:
		return answer{}, err
	case q.dst.IsMulticast():
		a.typ = Multicast
	case local != 0:
		a.typ, a.index = Local, local
	}
	return a, nil
}

// udpAddr returns a and port as a UDPAddr, nil for the zero Addr. The zone of a link-local a is the
// interface with the given index.
func udpAddr(a netip.Addr, port uint16, index int) *net.UDPAddr {
	if !a.IsValid() {
		return nil
	}
	if needsZone(a) && index != 0 {
		a = a.WithZone(fmt.Sprint(index))
	}
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, port))
}

// owner returns the index of the interface that has the address a, 0 if no interface has it. If
// several have it, owner prefers the interface with the given index.
func owner(a netip.Addr, index int) (int, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return 0, fmt.Errorf("listing network interfaces: %w", err)
	}
	found := 0
	for i := range ifs {
		ifc := &ifs[i]
		addrs, err := ifc.Addrs()
		if err != nil {
			return 0, fmt.Errorf("listing the addresses of %s: %w", ifc.Name, err)
		}
		for _, have := range addrs {
			ipnet, ok := have.(*net.IPNet)
			if !ok {
				continue
			}
			whole := ifc.Flags&net.FlagLoopback != 0 && a.Is4() // every address of a loopback IPv4 prefix is local
			if !ipnet.IP.Equal(a.AsSlice()) && !(whole && ipnet.Contains(a.AsSlice())) {
				continue
			}
			if ifc.Index == index || found == 0 {
				found = ifc.Index
			}
		}
	}
	return found, nil
}
