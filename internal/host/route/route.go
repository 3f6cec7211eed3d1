package route

import (
	"context"
	"net"
	"net/netip"
)

// Type is the type of a destination.
type Type uint8

const (
	Unicast   Type = iota // on a link or behind a gateway
	Local                 // an address of this host
	Multicast             // a group; it has no neighbour
)

func (t Type) String() string {
	switch t {
	case Unicast:
		return "unicast"
	case Local:
		return "local"
	case Multicast:
		return "multicast"
	}
	return "unknown"
}

// A Route describes how this host sends to Dst. Its addresses are never IPv4-mapped. Link-local
// IPv6 addresses have the name of their interface as zone; other addresses have no zone.
type Route struct {
	Type     Type
	Dst, Src netip.Addr
	// Interface is the name of the outgoing interface; for Local destinations usually the loopback
	// interface.
	Interface string
	Index     int // index of Interface
	// Gateway is the zero Addr for a destination on the link. It may be IPv6 for an IPv4 Dst.
	Gateway netip.Addr
	// MTU is the maximum size of an IP packet in bytes: the MTU of the route, which may come from
	// path MTU discovery, or of Interface.
	MTU      int
	HopLimit uint8 // hop limit of the route, or the default of this host
	// MAC is the link-layer address of the next hop. It is nil after Find, for Local and
	// Multicast destinations, on interfaces without neighbours (loopback, tunnels), and on
	// systems that do not report it.
	MAC net.HardwareAddr
}

// NextHop returns the gateway, or Dst if there is none.
func (r *Route) NextHop() netip.Addr {
	if r.Gateway.IsValid() {
		return r.Gateway
	}
	return r.Dst
}

// Options restrict the route. The zero value leaves every choice to the kernel.
type Options struct {
	// Sources are the permitted source addresses, such as those of a device. Find uses the kernel's
	// choice if it is among them, otherwise the first usable address in the order of RFC 6724 (same
	// scope, then longest common prefix). Nil permits every address of this host.
	Sources []netip.Addr
	// Interface is the name of the outgoing interface, "" for any. If that interface has no route
	// to an IPv4 destination, Linux assumes that the destination is on its link, as for a socket
	// bound to the interface.
	Interface string
}

// Find looks up the route to dst. The zone of a link-local dst is the name or index of an
// interface; without a zone, the interface is Options.Interface or the only zone among
// Options.Sources. A zone of another IPv6 dst also selects the outgoing interface.
//
// The errors are [UnreachableError] and [SourceError], and other types for an invalid dst or
// interface.
func Find(dst netip.Addr, o Options) (Route, error) {
	h, err := open()
	if err != nil {
		return Route{}, err
	}
	defer h.close()
	r, _, err := find(h, dst, o)
	return r, err
}

// Resolve does what Find does, and also makes sure that the kernel knows the next hop's link-layer
// address, or fails with a [NeighbourError]. It accepts an address that the kernel has not
// confirmed recently, as rdma_resolve_addr does. If the address is unknown, Resolve makes the
// kernel resolve it, and waits until the address is known, the kernel stops trying (after about 3 s
// by default), or ctx ends.
//
// A kernel resolves an address when it has a packet for it: Resolve sends an empty UDP datagram
// with hop limit 1 to the next hop, and to dst if there is a gateway, at the discard port (9, RFC
// 863), on which no program listens and which RNICs do not count; at most an ICMP error returns,
// to no socket.
func Resolve(ctx context.Context, dst netip.Addr, o Options) (Route, error) {
	if err := ctx.Err(); err != nil {
		return Route{}, err
	}
	h, err := open()
	if err != nil {
		return Route{}, err
	}
	defer h.close()
	r, l, err := find(h, dst, o)
	if err != nil {
		return Route{}, err
	}
	if r.Type == Unicast && l.neighbours {
		if r.MAC, err = h.neighbour(ctx, &r); err != nil {
			return Route{}, err
		}
	}
	return r, nil
}
