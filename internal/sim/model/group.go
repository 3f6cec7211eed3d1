package model

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A group is a multicast group. A sender need not be a member; a member does not receive its own
// datagrams.
type group struct {
	addr    netip.Addr
	members []*end
}

func (net *Network) newGroup(i int, spec *scenario.GroupSpec) {
	g := &group{addr: netip.AddrFrom4([4]byte{239, 0, 0, byte(i + 1)})}
	if spec.IPv6 {
		g.addr = netip.AddrFrom16([16]byte{0xff, 5, 15: byte(i + 1)})
	}
	for _, m := range spec.Members {
		g.members = append(g.members, net.conns[m.Conn].ends[m.End])
	}
	net.groups = append(net.groups, g)
}

// addressHandle returns the address handle with which e sends to the group.
func (g *group) addressHandle(e *end) *transport.AH {
	path := packet.Path{Src: e.node.addr(g.addr.Is6()), Dst: g.addr}
	return transport.NewAH(e.node.pd, qp.AddressVector{DGID: qp.GIDFromAddr(g.addr)}, 0, path, e.conn.spec.MTU, nil)
}

// joins adds e to the group, or removes it if it is a member.
func (g *group) joins(e *end) {
	if i := slices.Index(g.members, e); i >= 0 {
		g.members = slices.Delete(g.members, i, i+1)
	} else {
		g.members = append(g.members, e)
	}
}

// on returns the members on node n that receive what from sends.
func (g *group) on(n *node, from *end) (members []*end) {
	for _, m := range g.members {
		if m.node == n && m != from {
			members = append(members, m)
		}
	}
	return members
}

// receivers returns the queue pairs that may receive the message that a makes e send.
func (e *end) receivers(a *scenario.Act) (all []*end) {
	if a.Group == 0 {
		return []*end{e.peer()}
	}
	for _, n := range e.net.nodes {
		all = append(all, e.net.groups[a.Group-1].on(n, e)...)
	}
	return all
}

// copies tracks one datagram on its way to one node.
type copies struct {
	made int          // number of copies, the sent one and the link's duplicates
	took map[*end]int // copies that each member received
}

// spread sends a datagram to each node that has members of its group.
func (net *Network) spread(f *world.Frame, d *delivery) {
	for _, n := range net.nodes {
		if slices.ContainsFunc(d.sent.group.members, func(m *end) bool { return m.node == n }) {
			to := *d
			to.to, to.copies = n, &copies{1, map[*end]int{}}
			one := *f
			one.Raw, one.To, one.Copies = slices.Clone(f.Raw), &to, &to.copies.made
			net.Carry(net.Link(d.from.node.index, n.index), &one)
		}
	}
}

// arriveGroup delivers a datagram to the members on a node.
func (d *delivery) arriveGroup(raw []byte, p *bth.Packet) {
	net := d.from.net
	for _, m := range d.sent.group.on(d.to, d.from) {
		if net.Violation != nil {
			return
		}
		if d.copies.took[m]++; d.copies.took[m] > d.copies.made {
			m.fail("a datagram comes %d times, its link has made %d copies", d.copies.took[m], d.copies.made)
		}
		st, want := m.arrivedUD(p, raw, d)
		if want == transport.Accepted {
			net.Stats.Multicasts++
		}
		m.receive(raw, p, st, want, true)
	}
}
