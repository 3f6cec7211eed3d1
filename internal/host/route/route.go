package route

import (
	"context"
	"net"
	"net/netip"
)

// Type says where a destination is.
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

// A Route says how this host sends to Dst. Its addresses are never IPv4-mapped; link-local
// IPv6 addresses have the name of their interface as zone, others have none.
type Route struct {
	Type      Type
	Dst, Src  netip.Addr
	Interface string     // packets leave by it; those to Local destinations mostly by the loopback interface
	Index     int        // of Interface
	Gateway   netip.Addr // the zero Addr for a destination on the link; IPv6 is possible for an IPv4 Dst
	MTU       int        // the longest IP packet in bytes: of the route, as learned by path MTU discovery, or of Interface
	HopLimit  uint8      // of the route or what is usual on this host
	// MAC is the link-layer address of the next hop. It is nil after Find, for Local and Multicast
	// destinations, on interfaces without neighbours (loopback, tunnels), and where the
	// system does not tell.
	MAC net.HardwareAddr
}

// NextHop is the gateway, or Dst if there is none.
func (r *Route) NextHop() netip.Addr {
	if r.Gateway.IsValid() {
		return r.Gateway
	}
	return r.Dst
}

// Options narrow the search. The zero value leaves all to the kernel.
type Options struct {
	// Sources are the addresses that the source may be, such as those of a device: the one the
	// kernel would choose by itself if it is among them, else the first one that fits in the order of RFC 6724
	// (same scope, then longest common prefix). Nil means every address of this host.
	Sources []netip.Addr
	// Interface is the name of the interface that packets leave by, "" for any. As for a socket bound
	// to an interface, Linux takes every IPv4 destination to be on the link of an interface
	// without a route to it.
	Interface string
}

// Find looks up the route to dst. The zone of a link-local dst is the name or index of an interface; without one
// it is that of Options.Interface or the only one among Options.Sources. Another IPv6 dst with a zone leaves
// by that interface, too.
//
// The errors are [UnreachableError] and [SourceError], and others for a dst or an interface that
// cannot be.
func Find(dst netip.Addr, o Options) (Route, error) {
	h, err := open()
	if err != nil {
		return Route{}, err
	}
	defer h.close()
	r, _, err := find(h, dst, o)
	return r, err
}

// Resolve does what Find does, and sees to it that the kernel knows the next hop's link-layer address, or
// fails with a [NeighbourError]. It takes an address that the kernel has not confirmed of late, as
// rdma_resolve_addr does. If there is none, it makes the kernel ask, and waits until it has an
// answer, gives up (after about 3 s unless configured otherwise), or ctx ends.
//
// A kernel asks for an address when it has a packet for it: Resolve sends an empty UDP datagram with hop limit 1 to the
// next hop, and to dst if there is a gateway, at the discard port (9, RFC 863), where nobody listens and RNICs
// count nothing; at most an ICMP error comes back, to no socket.
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
