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

// Limits of multicast, as rxe's.
const (
	MaxGroups   = 8192 // that a device has members of
	MaxAttached = 56   // queue pairs of one group
)

// groups are the multicast groups that queue pairs of a device are attached to. mu is taken after the
// lock of a shard.
type groups struct {
	mu     sync.Mutex
	joined map[netip.Addr]*group // guarded by mu; nil at first
	left   packet.Stats          // of memberships that are over; guarded by mu
}

// group is a multicast group. Its packets come by one inbox, which hands each to the shards with
// members.
type group struct {
	addr    netip.Addr
	members []*QP           // guarded by groups.mu; each shard has a list of its own, shard.members
	shards  atomic.Uint64   // those of the members, a bit each; changed with groups.mu held
	via     *gid            // whose link has joined it, nil for none; guarded by groups.mu
	from    packet.Receiver // nil likewise; guarded by groups.mu
}

// AttachMulticast makes q, of type UD, receive what is sent to the group gid with its
// Q_Key. The device joins the group at the IP level when the first of its queue pairs is
// attached: once, by its first link of the group's family, for all its addresses are those
// of one port. When that link is removed another joins in its place, and when there is none
// the first that comes; what is sent to the group meanwhile is missed. To be attached twice
// is to be attached.
func (q *QP) AttachMulticast(gid qp.GID) error {
	addr, s, d := gid.Addr(), q.shard, q.shard.dev
	if q.attr.Type != qp.UD {
		return fmt.Errorf("queue pair %#06x is of type %v: only %v receives multicasts", uint32(q.attr.Num), q.attr.Type, qp.UD)
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

// receive takes note of g's membership and starts to receive. The locks of a shard and of the groups
// are held.
func (g *group) receive(d *Device, via *gid, from packet.Receiver) {
	g.via, g.from = via, from
	d.running.Go(newGroupInbox(via, d.home(), from, g).run)
}

// attach adds q to a group that the device has joined; it is false if there is none.
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
		return true, fmt.Errorf("%d queue pairs are attached to %v, which is all that can be: detach one", MaxAttached, addr)
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

// DetachMulticast ends what AttachMulticast began. The device leaves a group when the last
// of its queue pairs does.
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

// leaveAll takes q out of all groups. The lock of its shard is held.
func (a *groups) leaveAll(q *QP) {
	for addr, members := range q.shard.members {
		if slices.Contains(members, q) {
			a.leave(q, addr)
		}
	}
}

// leave takes q, a member, out of a group, and the device when it was the last. The lock of its shard
// is held.
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
		a.part(s.dev, g)
	}
}

// part ends g's membership, if it has one. The lock of the groups is held.
func (a *groups) part(d *Device, g *group) {
	if g.from == nil {
		return
	}
	if l, ok := g.from.(packet.Counted); ok {
		a.left.Add(l.Stats())
	}
	if err := g.from.Close(); err != nil {
		d.log.Warn("leaving a multicast group failed", "device", d.name, "group", g.addr, "error", err)
	}
	g.via, g.from = nil, nil
}

// partAll ends the memberships that via was asked for.
func (a *groups) partAll(d *Device, via *gid) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.joined {
		if g.via == via {
			a.part(d, g)
		}
	}
}

// out are the groups that the device has members of and is not in.
func (a *groups) out() (out []*group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.joined {
		if g.from == nil {
			out = append(out, g)
		}
	}
	return out
}

// stats adds up what memberships count.
func (a *groups) stats() packet.Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := a.left
	for _, g := range a.joined {
		if l, ok := g.from.(packet.Counted); ok {
			sum.Add(l.Stats())
		}
	}
	return sum
}

// rejoin joins the groups that the device has members of and is not in, as far as it can.
// linking is held.
func (d *Device) rejoin() {
	failed, why := 0, error(nil)
	for _, g := range d.groups.out() {
		via, from, err := d.join(g.addr)
		if err != nil {
			failed, why = failed+1, err
			continue
		}
		if !d.rejoined(g, via, from) {
			why = errors.Join(why, from.Close())
		}
	}
	if why != nil {
		d.log.Warn("multicast groups wait for a link that can join them", "device", d.name, "groups", failed, "error", why)
	}
}

// rejoined starts to receive from a group, unless that or the device has ended.
func (d *Device) rejoined(g *group, via *gid, from packet.Receiver) bool {
	s := d.home()
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

// receiveGroup gives a packet that was sent to a group to each queue pair of the shard that is attached
// to it. A queue pair does not receive its own, others of the device do. The lock is held.
func (s *shard) receiveGroup(now transport.Time, in *inbox, a *arrival) {
	refused := a.packet.DestQP != bth.MulticastQPN || in.group.shards.Load() == 0
	if refused || a.packet.Opcode.Info().Service != bth.ServiceUD {
		switch {
		case s != in.shard: // each shard sees it, one counts it
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

// has is true for an address of the device. The shard's lock is held.
func (d *Device) has(a netip.Addr) bool {
	return slices.ContainsFunc(d.gids, func(g *gid) bool { return g.link != nil && g.local == a })
}
