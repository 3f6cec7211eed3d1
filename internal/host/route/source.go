package route

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// A candidate is a possible source address.
type candidate struct {
	addr netip.Addr // with or without zone, as in a Route
	link link       // interface of the zone; index 0 if there is no zone
	err  error      // why the address cannot be used; nil if it can
}

func newCandidates(k kernel, dst netip.Addr, addrs []netip.Addr) []candidate {
	var out []candidate
	for _, a := range addrs {
		c := candidate{addr: a.Unmap()}
		if zone := c.addr.Zone(); zone != "" && needsZone(c.addr) && dst.Is6() {
			c.link, c.err = linkOfZone(k, zone)
		}
		if c.link.index != 0 || !needsZone(c.addr) {
			c.addr = scoped(c.addr, c.link.name)
		}
		out = append(out, c)
	}
	return out
}

// onlyZone returns the interface that all candidates with a zone share, or the zero link.
func onlyZone(cs []candidate) link {
	var out link
	for _, c := range cs {
		switch {
		case c.link.index == 0 || c.link.index == out.index:
		case out.index == 0:
			out = c.link
		default:
			return link{}
		}
	}
	return out
}

// choose returns a route to dst whose source is one of the candidates.
func choose(k kernel, dst netip.Addr, cs []candidate, out link) (Route, link, error) {
	usual, noRoute := ask(k, dst, netip.Addr{}, out)
	if i := slices.IndexFunc(cs, func(c candidate) bool { return c.is(usual.src, usual.index) }); i >= 0 {
		// Routing rules for this source may select another route.
		if r, l, err := from(k, dst, cs[i].addr, out); err == nil {
			return r, l, nil
		}
	}
	var u *UnreachableError
	if errors.As(noRoute, &u) && (u.Kind == Broadcast || u.Kind == Anycast) {
		return Route{}, link{}, noRoute
	}
	local := noRoute == nil && usual.typ == Local
	refusals := &SourceError{Dst: dst}
	fits := false
	for _, c := range slices.SortedStableFunc(slices.Values(cs), nearer(dst)) {
		err := c.unfit(k, dst, out, local)
		if err == nil {
			by := out
			if by.index == 0 {
				by = c.link
			}
			var r Route
			var l link
			if r, l, err = from(k, dst, c.addr, by); err == nil {
				return r, l, nil
			}
		}
		fits = fits || errors.As(err, &u)
		refusals.Refused = append(refusals.Refused, Refusal{c.addr, err})
	}
	if fits && noRoute != nil { // the sources are not the cause
		return Route{}, link{}, noRoute
	}
	return Route{}, link{}, refusals
}

// is reports whether c is usable and is the address src on the interface with the given index.
func (c *candidate) is(src netip.Addr, index int) bool {
	return c.err == nil && src.IsValid() && c.addr.WithZone("") == src && (c.link.index == 0 || c.link.index == index)
}

// from returns the route to dst with source address src.
func from(k kernel, dst, src netip.Addr, out link) (Route, link, error) {
	r, l, err := look(k, dst, src, out)
	if err == nil && needsZone(src) && r.Gateway.IsValid() {
		err = fmt.Errorf("packets from a link-local address do not pass the gateway %v", r.Gateway)
	}
	return r, l, err
}

// unfit returns the reason why nothing can be sent from c to dst, nil if there is none. local
// means that dst is an address of this host.
func (c *candidate) unfit(k kernel, dst netip.Addr, out link, local bool) error {
	switch {
	case c.err != nil:
		return c.err
	case !c.addr.IsValid() || c.addr.IsUnspecified():
		return errors.New("it is no address")
	case c.addr.Is4() != dst.Is4():
		return fmt.Errorf("it is not %s", family(dst))
	case needsZone(c.addr) && c.link.index == 0 && out.index == 0:
		return errors.New("it may be on any link: add its interface")
	case c.link.index != 0 && out.index != 0 && c.link.index != out.index:
		return fmt.Errorf("it is on %s, and packets leave by %s", c.link.name, out.name)
	case c.addr.IsLoopback() && !local:
		return errors.New("packets from a loopback address do not leave the host")
	}
	by := c.link
	if needsZone(c.addr) && by.index == 0 {
		by = out
	}
	if a, err := k.lookup(query{dst: c.addr.WithZone(""), index: by.index}); err != nil || a.typ != Local {
		return errors.New("it is not an address of this host")
	}
	return nil
}

// nearer returns a comparison function that sorts the better source addresses for dst first.
func nearer(dst netip.Addr) func(a, b candidate) int {
	far := func(c candidate) int {
		if c.addr.IsLinkLocalUnicast() == dst.IsLinkLocalUnicast() {
			return 0
		}
		return 1
	}
	return func(a, b candidate) int {
		return cmp.Or(cmp.Compare(far(a), far(b)), -cmp.Compare(commonBits(a.addr, dst), commonBits(b.addr, dst)))
	}
}

// commonBits returns the number of leading bits that a and b share, 0 for different address
// families.
func commonBits(a, b netip.Addr) int {
	if a.BitLen() != b.BitLen() {
		return 0
	}
	for bits := a.BitLen(); bits > 0; bits-- {
		p, err := a.WithZone("").Prefix(bits)
		if err == nil && p.Contains(b.WithZone("")) {
			return bits
		}
	}
	return 0
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}
