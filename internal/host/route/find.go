package route

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"syscall"
)

// defaultHopLimit is the hop limit on hosts that do not report their default.
const defaultHopLimit = 64

func find(k kernel, dst netip.Addr, o Options) (Route, link, error) {
	dst = dst.Unmap()
	if !dst.IsValid() || dst.IsUnspecified() {
		return Route{}, link{}, fmt.Errorf("%v is not a destination: name one host", dst)
	}
	sources := newCandidates(k, dst, o.Sources)
	out, err := outgoing(k, dst, o.Interface, sources)
	if err != nil {
		return Route{}, link{}, err
	}
	dst = scoped(dst, out.name)
	if o.Sources == nil {
		return look(k, dst, netip.Addr{}, out)
	}
	return choose(k, dst, sources, out)
}

// outgoing returns the interface through which packets to dst must be sent; its index is 0 if any
// interface may be used. name is the requested interface, "" for any.
func outgoing(k kernel, dst netip.Addr, name string, sources []candidate) (link, error) {
	var out link
	var err error
	if name != "" {
		if out, err = k.link(name, 0); err != nil {
			return out, err
		}
	}
	if zone := dst.Zone(); zone != "" {
		byZone, err := linkOfZone(k, zone)
		if err != nil {
			return out, fmt.Errorf("the zone of %v: %w", dst, err)
		}
		if out.index != 0 && out.index != byZone.index {
			return out, fmt.Errorf("%v is on %s and cannot be reached by %s", dst, byZone.name, out.name)
		}
		out = byZone
	}
	if needsZone(dst) && out.index == 0 {
		if out = onlyZone(sources); out.index == 0 {
			return out, fmt.Errorf("%v may be on any link: add the interface, as in %v%%eth0", dst, dst)
		}
	}
	if out.index != 0 && !out.up {
		return out, fmt.Errorf("network interface %s is down: bring it up first: %w", out.name, syscall.ENETDOWN)
	}
	return out, nil
}

// linkOfZone returns the interface of a zone. zone is the name of the interface or, if no interface
// has that name, an index.
func linkOfZone(k kernel, zone string) (link, error) {
	l, err := k.link(zone, 0)
	if err == nil {
		return l, nil
	}
	if index, nerr := strconv.ParseInt(zone, 10, 32); nerr == nil && index > 0 {
		return k.link("", int(index))
	}
	return l, err
}

// needsZone reports whether a is unique only on its link, so that it needs a zone.
func needsZone(a netip.Addr) bool {
	return a.Is6() && (a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsInterfaceLocalMulticast())
}

// scoped returns a as in a [Route]: with zone if a needs a zone, else without.
func scoped(a netip.Addr, zone string) netip.Addr {
	if !needsZone(a) {
		zone = ""
	}
	return a.WithZone(zone)
}

// look returns the route to dst and its interface. src is the source address, which look does not
// check; the zero Addr leaves it to the kernel. out is the interface to use; index 0 means any.
func look(k kernel, dst, src netip.Addr, out link) (Route, link, error) {
	a, err := ask(k, dst, src, out)
	if err != nil {
		return Route{}, link{}, err
	}
	l := out
	if a.index != out.index {
		if l, err = k.link("", a.index); err != nil {
			return Route{}, link{}, err
		}
	}
	r := Route{
		Type: a.typ, Dst: dst, Src: src, Interface: l.name, Index: l.index,
		Gateway: scoped(a.gateway, l.name), MTU: a.mtu, HopLimit: a.hopLimit,
	}
	if !src.IsValid() {
		// l, the interface of the route to a local destination, is often not the interface that has
		// the address.
		r.Src = scoped(a.src, cmp.Or(dst.Zone(), l.name))
	}
	if r.MTU == 0 && dst.Is6() {
		r.MTU = l.mtu6
	}
	r.MTU = cmp.Or(r.MTU, l.mtu)
	if r.HopLimit == 0 && dst.Is6() {
		r.HopLimit = l.hopLimit6
	}
	if r.HopLimit == 0 && dst.Is4() {
		r.HopLimit = k.hopLimit4()
	}
	r.HopLimit = cmp.Or(r.HopLimit, defaultHopLimit)
	return r, l, nil
}

// ask queries the kernel for one route, with the parameters of look.
func ask(k kernel, dst, src netip.Addr, out link) (answer, error) {
	a, err := k.lookup(query{dst: dst.WithZone(""), src: src.WithZone(""), index: out.index})
	if err == nil && out.index != 0 && a.index != out.index && a.typ != Local {
		// For IPv6 the kernel may choose another interface than the requested one.
		err = &UnreachableError{Kind: NoRoute, Err: syscall.ENETUNREACH}
	}
	if u, ok := err.(*UnreachableError); ok {
		u.Dst, u.Interface = dst, out.name
	}
	return a, err
}
