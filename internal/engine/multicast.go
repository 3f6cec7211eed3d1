package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

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

// group is a multicast group that queue pairs of the device are attached to. The shard's
// lock guards it.
type group struct {
	addr    netip.Addr
	via     *gid            // whose link has joined it, nil for none
	from    packet.Receiver // nil likewise
	members []*QP
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
	s.mu.Lock()
	known, err := s.attach(q, addr)
	s.mu.Unlock()
	if known || err != nil {
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
	s.groups[addr] = &group{addr: addr, members: []*QP{q}}
	s.joined(s.groups[addr], via, from)
	return nil
}

// joined takes note of g's membership and starts to receive. The lock is held.
func (s *shard) joined(g *group, via *gid, from packet.Receiver) {
	g.via, g.from = via, from
	s.dev.running.Go(newGroupInbox(via, s, from, g.addr).run)
}

// attach adds q to a group that the device has joined; it is false if there is none. The
// lock is held.
func (s *shard) attach(q *QP, addr netip.Addr) (known bool, err error) {
	if err := q.usable(); err != nil {
		return false, err
	}
	g := s.groups[addr]
	switch {
	case g == nil && len(s.groups) >= MaxGroups:
		return false, fmt.Errorf("the device is in %d multicast groups, which is all it can: leave one", MaxGroups)
	case g == nil:
		return false, nil
	case slices.Contains(g.members, q):
		return true, nil
	case len(g.members) >= MaxAttached:
		return true, fmt.Errorf("%d queue pairs are attached to %v, which is all that can be: detach one", MaxAttached, addr)
	}
	g.members = append(g.members, q)
	return true, nil
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
	g := s.groups[gid.Addr()]
	if g == nil || !slices.Contains(g.members, q) {
		return fmt.Errorf("queue pair %#06x is not attached to %v", uint32(q.attr.Num), gid)
	}
	s.leave(g, q)
	return nil
}

// leave takes q out of g, and the device when it was the last. The lock is held.
func (s *shard) leave(g *group, q *QP) {
	g.members = slices.DeleteFunc(g.members, func(m *QP) bool { return m == q })
	if len(g.members) > 0 {
		return
	}
	delete(s.groups, g.addr)
	s.part(g)
}

// part ends g's membership, if it has one. The lock is held.
func (s *shard) part(g *group) {
	if g.from == nil {
		return
	}
	if l, ok := g.from.(packet.Counted); ok {
		s.leftGroups.Add(l.Stats())
	}
	if err := g.from.Close(); err != nil {
		s.dev.log.Warn("leaving a multicast group failed", "device", s.dev.name, "group", g.addr, "error", err)
	}
	g.via, g.from = nil, nil
}

// partGroups ends the memberships that via was asked for. The lock is held.
func (s *shard) partGroups(via *gid) {
	for _, g := range s.groups {
		if g.via == via {
			s.part(g)
		}
	}
}

// rejoin joins the groups that the device has members of and is not in, as far as it can.
// linking is held.
func (d *Device) rejoin() {
	s := d.home()
	var out []*group
	s.mu.Lock()
	for _, g := range s.groups {
		if g.from == nil {
			out = append(out, g)
		}
	}
	s.mu.Unlock()
	failed, why := 0, error(nil)
	for _, g := range out {
		via, from, err := d.join(g.addr)
		if err != nil {
			failed, why = failed+1, err
			continue
		}
		s.mu.Lock()
		if s.closed || s.groups[g.addr] != g {
			why = errors.Join(why, from.Close())
		} else {
			s.joined(g, via, from)
		}
		s.mu.Unlock()
	}
	if why != nil {
		d.log.Warn("multicast groups wait for a link that can join them", "device", d.name, "groups", failed, "error", why)
	}
}

// leaveAll takes q out of all groups. The lock is held.
func (s *shard) leaveAll(q *QP) {
	for _, g := range s.groups {
		if slices.Contains(g.members, q) {
			s.leave(g, q)
		}
	}
}

// receiveGroup gives a packet that was sent to a group to each queue pair attached to it. A
// queue pair does not receive its own, others of the device do. The lock is held.
func (s *shard) receiveGroup(now transport.Time, addr netip.Addr, a *arrival) {
	g := s.groups[addr]
	switch {
	case g == nil || a.packet.DestQP != bth.MulticastQPN:
		s.count.drops[dropUnknownQPN]++
		return
	case a.packet.Opcode.Info().Service != bth.ServiceUD:
		s.count.verdicts[transport.WrongService]++
		return
	}
	own := s.dev.has(a.src)
	for _, q := range g.members {
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
