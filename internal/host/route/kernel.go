package route

import "net/netip"

// A kernel answers single queries about the host.
type kernel interface {
	// link finds an interface by its name, or by its index if name is "". The error contains the
	// name or index.
	link(name string, index int) (link, error)
	// lookup finds a route. If there is none, the error is an *UnreachableError with Kind and Err
	// set.
	lookup(q query) (answer, error)
	// hopLimit4 returns the default hop limit for IPv4, 0 if it is unknown.
	hopLimit4() uint8
}

// A query is a route query. Its addresses have no zones. src may be the zero Addr. index is that of
// the outgoing interface, 0 for any.
type query struct {
	dst, src netip.Addr
	index    int
}

type answer struct {
	typ      Type
	src      netip.Addr // source address; the zero Addr if the query had a source address
	gateway  netip.Addr
	index    int
	mtu      int   // in bytes; 0 if the route has none
	expires  bool  // the answer has an expiry time, so the kernel may have learned mtu
	hopLimit uint8 // 0 if the route has none
}

type link struct {
	name       string
	index      int
	up         bool
	carrier    bool  // the interface has a carrier
	neighbours bool  // hosts on the link have link-layer addresses that can be resolved
	mtu, mtu6  int   // in bytes, for IPv4 and IPv6
	hopLimit6  uint8 // default for IPv6, 0 if it is unknown

	ethernet bool // frames have an Ethernet header
	mac      [6]byte
}
