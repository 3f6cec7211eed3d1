package route

import "net/netip"

// A kernel answers single questions about the host.
type kernel interface {
	// link finds an interface by its name, or by its index if name is "". The error names it.
	link(name string, index int) (link, error)
	// lookup finds a route. Where there is none, the error is an *UnreachableError with Kind and Err.
	lookup(q query) (answer, error)
	// hopLimit4 is the usual one for IPv4, 0 if it is not known.
	hopLimit4() uint8
}

// A query has addresses without zones. src may be the zero Addr, index (of the outgoing interface) 0.
type query struct {
	dst, src netip.Addr
	index    int
}

type answer struct {
	typ      Type
	src      netip.Addr // the zero Addr if it is the query's
	gateway  netip.Addr
	index    int
	mtu      int   // 0 if the route says nothing
	expires  bool  // the answer holds for some time only: mtu may be what the kernel has learned
	hopLimit uint8 // 0 if the route says nothing
}

type link struct {
	name       string
	index      int
	up         bool
	carrier    bool  // there is somebody at the other end of the cable
	neighbours bool  // its hosts have link-layer addresses to be asked for
	mtu, mtu6  int   // in bytes, for IPv4 and IPv6
	hopLimit6  uint8 // the usual one for IPv6, 0 if it is not known

	ethernet bool // what it sends and receives begins with an Ethernet header
	mac      [6]byte
}
