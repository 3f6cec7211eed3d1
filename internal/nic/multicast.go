package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Limits of multicast, the same as those of Linux rxe.
const (
	MaxGroups   = 8192 // groups with members in the device
	MaxAttached = 56   // queue pairs of one group
)

// groups are the multicast groups to which queue pairs of a device are attached. mu is taken
// after the lock of a shard.
type groups struct {
	mu     sync.Mutex
	joined map[netip.Addr]*group // groups with members, nil at first; guarded by mu
	left   packet.Stats          // sum of the counters of ended memberships; guarded by mu
}

// group is a multicast group. One inbox receives its packets and passes each to the shards that
// have members.
//
// The ICRC of a multicast packet is computed with the group as destination address. Linux rxe
// does not join groups at the IP level: from other hosts it receives only groups that another
// program of its host has joined.
type group struct {
	addr    netip.Addr
	members []*QP           // guarded by groups.mu; the members of each shard are also in shard.members
	shards  atomic.Uint64   // bit mask of the shards with members; changed with groups.mu held
	via     *gid            // GID whose link has joined the group, nil: none; guarded by groups.mu
	from    packet.Receiver // membership of the link, nil: none; guarded by groups.mu
}

// AttachMulticast makes q, of type UD, receive datagrams that are sent to the group gid with the
// Q_Key of q. The device joins the group at the IP level when its first queue pair is attached:
// once, by the first link of the group's address family, because all addresses of the device are
// those of one port. When that link is removed, another one joins in its place; if there is none,
// the next link of this family that is added joins. Datagrams sent meanwhile are missed. Attaching
// again does nothing.
func (q *QP) AttachMulticast(gid qp.GID) error {
	addr, s, d := gid.Addr(), q.shard, q.shard.dev
	if q.attr.Type != qp.UD {
		return fmt.Errorf("queue pair %#06x is of type %v: only %v receives multicasts",
			uint32(q.attr.Num), q.attr.Type, qp.UD)
	}
	if !addr.IsMulticast() {
		return fmt.Errorf("%v is not the GID of a multicast group", gid)
	}
	d.linking.Lock()
	defer d.linking.Unlock()
	if known, err := d.groups.attach(q, addr); known || err != nil {
		return err
	}
	via, from, err := d.join(addr)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := q.usable(); err != nil {
		return errors.Join(err, from.Close())
	}
	d.groups.mu.Lock()
	defer d.groups.mu.Unlock()
	if d.groups.joined == nil {
		d.groups.joined = map[netip.Addr]*group{}
	}
	g := &group{addr: addr}
	d.groups.joined[addr] = g
	g.add(q)
	g.receive(d, via, from)
	return nil
}

// receive sets g's membership and starts to receive. The locks of a shard and of the groups are
// held.
func (g *group) receive(d *Device, via *gid, from packet.Receiver) {
	g.via, g.from = via, from
	d.running.Go(newGroupInbox(via, d.shard0(), from, g).run)
}

// attach adds q to the group addr if the group has members in the device; known reports whether it
// has.
func (a *groups) attach(q *QP, addr netip.Addr) (known bool, err error) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	if err := q.usable(); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.joined[addr]
	switch {
	case g == nil && len(a.joined) >= MaxGroups:
		return false, fmt.Errorf("the device is in %d multicast groups, which is all it can: leave one", MaxGroups)
	case g == nil:
		return false, nil
	case slices.Contains(g.members, q):
		return true, nil
	case len(g.members) >= MaxAttached:
		return true, fmt.Errorf("%d queue pairs are attached to %v, which is all that can be: detach one",
			MaxAttached, addr)
	}
	g.add(q)
	return true, nil
}

// add makes q a member. The locks of its shard and of the groups are held.
func (g *group) add(q *QP) {
	s := q.shard
	g.members = append(g.members, q)
	s.members[g.addr] = append(s.members[g.addr], q)
	g.shards.Or(1 << s.index)
}

// join joins a group by the first link that can. linking is held.
func (d *Device) join(addr netip.Addr) (*gid, packet.Receiver, error) {
	var errs []error
	for _, g := range d.gids {
		if g.link == nil || g.local.Is4() != addr.Is4() {
			continue
		}
		from, err := packet.Join(g.link, addr)
		if err == nil {
			return g, from, nil
		}
		errs = append(errs, err)
	}
	if errs == nil {
		return nil, nil, fmt.Errorf("no address of the device is of the family of %v: it has %s", addr, d.gidList())
	}
	return nil, nil, fmt.Errorf("joining %v: %w", addr, errors.Join(errs...))
}

// DetachMulticast undoes AttachMulticast. The device leaves a group when its last queue pair is
// detached.
func (q *QP) DetachMulticast(gid qp.GID) error {
	s := q.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := q.usable(); err != nil {
		return err
	}
	if !slices.Contains(s.members[gid.Addr()], q) {
		return fmt.Errorf("queue pair %#06x is not attached to %v", uint32(q.attr.Num), gid)
	}
	s.dev.groups.leave(q, gid.Addr())
	return nil
}

// leaveAll removes q from all groups. The lock of its shard is held.
func (a *groups) leaveAll(q *QP) {
	for addr, members := range q.shard.members {
		if slices.Contains(members, q) {
			a.leave(q, addr)
		}
	}
}

// leave removes q, a member, from the group addr. If q was the last member, the device leaves the
// group. The lock of q's shard is held.
func (a *groups) leave(q *QP, addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, g := q.shard, a.joined[addr]
	isQ := func(m *QP) bool { return m == q }
	g.members = slices.DeleteFunc(g.members, isQ)
	if s.members[addr] = slices.DeleteFunc(s.members[addr], isQ); len(s.members[addr]) == 0 {
		delete(s.members, addr)
		g.shards.And(^(uint64(1) << s.index))
	}
	if len(g.members) == 0 {
		delete(a.joined, addr)
		a.leaveIP(s.dev, g)
	}
}

// leaveIP ends the membership of a link in g, if there is one. The lock of the groups is held.
func (a *groups) leaveIP(d *Device, g *group) {
	if g.from == nil {
		return
	}
	if l, ok := g.from.(packet.StatsReporter); ok {
		a.left.Add(l.Stats())
	}
	if err := g.from.Close(); err != nil {
		d.log.Warn("leaving a multicast group failed", "device", d.name, "group", g.addr, "error", err)
	}
	g.via, g.from = nil, nil
}

// leaveAllOf ends all memberships of via's link.
func (a *groups) leaveAllOf(d *Device, via *gid) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.joined {
		if g.via == via {
			a.leaveIP(d, g)
		}
	}
}

// unjoined returns the groups with members in the device that no link has joined.
func (a *groups) unjoined() (out []*group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.joined {
		if g.from == nil {
			out = append(out, g)
		}
	}
	return out
}

// stats returns the sum of the counters of all memberships.
func (a *groups) stats() packet.Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := a.left
	for _, g := range a.joined {
		if l, ok := g.from.(packet.StatsReporter); ok {
			sum.Add(l.Stats())
		}
	}
	return sum
}

// rejoin joins the groups with members in the device that no link has joined, as far as possible.
// The device leaves a group on the removed link before it joins on another: datagrams may be
// lost, but none arrives twice. linking is held.
func (d *Device) rejoin() {
	failed, why := 0, error(nil)
	for _, g := range d.groups.unjoined() {
		via, from, err := d.join(g.addr)
		if err != nil {
			failed, why = failed+1, err
			continue
		}
		if !d.startReceiving(g, via, from) {
			why = errors.Join(why, from.Close())
		}
	}
	if why != nil {
		d.log.Warn("multicast groups wait for a link that can join them", "device", d.name, "groups", failed,
			"error", why)
	}
}

// startReceiving starts to receive from a group and returns true. It returns false if the group has
// no members any more or the device is closed.
func (d *Device) startReceiving(g *group, via *gid, from packet.Receiver) bool {
	s := d.shard0()
	s.mu.Lock()
	defer s.mu.Unlock()
	d.groups.mu.Lock()
	defer d.groups.mu.Unlock()
	if s.closed || d.groups.joined[g.addr] != g {
		return false
	}
	g.receive(d, via, from)
	return true
}

// receiveGroup passes a packet that was sent to a group to each queue pair of the shard that is
// attached to it, except to the queue pair that sent it. The lock is held.
func (s *shard) receiveGroup(now transport.Time, in *inbox, a *arrival) {
	refused := a.packet.DestQP != bth.MulticastQPN || in.group.shards.Load() == 0
	if refused || a.packet.Opcode.Info().Service != bth.ServiceUD {
		switch {
		case s != in.shard: // every shard gets the packet, one counts it
		case refused:
			s.count.drops[dropUnknownQPN]++
		default:
			s.count.verdicts[transport.WrongService]++
		}
		return
	}
	own := s.dev.has(a.src)
	for _, q := range s.members[in.to] {
		if own && a.packet.DETH.SrcQP == q.attr.Num {
			s.count.drops[dropOwnMulticast]++
			continue
		}
		s.count.verdicts[q.dgram.ReceiveFrom(now, &a.packet, &a.grh)]++
	}
}

// has reports whether the device has the address. The shard's lock is held.
func (d *Device) has(a netip.Addr) bool {
	return slices.ContainsFunc(d.gids, func(g *gid) bool { return g.link != nil && g.local == a })
}
