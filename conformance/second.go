package conformance

import (
	"net"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/conformance/wire"
)

// SecondLink returns a link at another address of the interface that has the address of the
// tester: for packets that do not come from the peer of a queue pair. It is closed when the case
// ends. The case is not run if the interface has no other address of this family that is free.
func (t *T) SecondLink() wire.Link {
	if t.second != nil {
		return t.second
	}
	// A link in memory has a second one beside it.
	if own, ok := t.run.Link.(interface{ Second() wire.Link }); ok {
		t.second = own.Second()
		return t.second
	}
	for _, a := range otherAddrs(t.run.Link.Local()) {
		used := false
		for _, c := range t.conns {
			used = used || c.Target.Addr == a
		}
		if used {
			continue
		}
		if l, err := wire.ListenUDP(a); err == nil {
			t.second = l
			return l
		}
	}
	t.NotRun("the interface of %v has no other address at which port %d is free", t.run.Link.Local(), wire.Port)
	panic("unreachable")
}

// SendFrom sends p over another link and returns the time.
func (c *Conn) SendFrom(l wire.Link, p *wire.Packet) time.Time {
	at := time.Now()
	b, err := l.Send(c.Target.Addr, p)
	if err != nil {
		c.t.Inconclusive("sending from %v: %v", l.Local(), err)
	}
	c.t.log.sent(at, l.Local(), c.Target.Addr, p, b)
	return at
}

// loopbackTries is the number of addresses of the loopback interface that otherAddrs returns.
const loopbackTries = 16

// otherAddrs returns other unicast addresses of the interface with the address, of its family. A
// loopback interface with IPv4 has all addresses of its network.
func otherAddrs(local netip.Addr) []netip.Addr {
	var others []netip.Addr
	if local.Is4() && local.IsLoopback() {
		for a := local.Next(); len(others) < loopbackTries && a.IsLoopback(); a = a.Next() {
			others = append(others, a)
		}
		return others
	}
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		here := false
		var found []netip.Addr
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			switch {
			case err != nil:
			case p.Addr() == local.WithZone(""):
				here = true
			case p.Addr().Is4() == local.Is4() && !p.Addr().IsLinkLocalUnicast():
				found = append(found, p.Addr())
			}
		}
		if here {
			others = append(others, found...)
		}
	}
	return others
}
