package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// lead makes out and path q's way, nil for none.
func (q *QP) lead(out *outbox, path packet.Path) {
	elsewhere := q.out != out || q.path.Dst != path.Dst
	if elsewhere && q.heard {
		if q.out.link != nil {
			packet.Release(q.out.link, q.path.Dst)
		}
		q.heard = false
	}
	// What is unreliable is lost where its first burst is longer than what may wait for a neighbour.
	if elsewhere && out != nil && q.dgram == nil {
		packet.Expect(out.link, path.Dst)
	}
	q.path, q.remote = path, path.Dst.WithZone("")
	q.joinShare(out)
	q.announce()
	if q.out == out {
		return
	}
	if q.out != nil {
		q.out.remove(q)
	}
	// Datagrams only pass by: their address handles hold on to the entries that they name.
	if q.dgram == nil {
		if q.out != nil {
			q.out.users--
		}
		if out != nil {
			out.users++
		}
	}
	q.out = out
}

// announce registers the peer of q, or any sender for datagrams, with the receivers of other shards.
func (q *QP) announce() {
	if s := q.shard; s.several && !q.closed {
		s.dev.senders.set(q.attr.Num, sender{addr: q.remote, anybody: q.dgram != nil})
	}
}

// hear takes note of the first packet that q's peer has sent: from then on the link holds on to what
// it knows of the way there. Requests for connections may bear anybody's address.
func (q *QP) hear() {
	q.heard = true
	packet.Hold(q.out.link, q.path.Dst)
}

// way returns the link and the path that the queue pair will have with the attributes of a
// that mask names.
func (q *QP) way(a *qp.Attr, mask qp.AttrMask) (*outbox, packet.Path, error) {
	out, path, mtu := q.out, q.path, q.attr.Attr.PathMTU
	refuse := func(attr qp.AttrMask, format string, args ...any) error {
		e := &qp.ModifyError{QPN: q.attr.Num, Type: q.attr.Type, From: q.attr.State(), To: q.attr.State(), Attr: attr}
		if mask&qp.AttrState != 0 {
			e.To = a.State
		}
		e.Reason = fmt.Sprintf("cannot be used: "+format, args...)
		return e
	}
	wrong := qp.AttrPathMTU
	if mask&qp.AttrAV != 0 {
		g, p, err := q.shard.dev.route(&a.AV, false)
		if err != nil {
			return nil, path, refuse(qp.AttrAV, "%v", err)
		}
		out, path, wrong = q.shard.out[g.index], p, qp.AttrAV
	}
	if mask&qp.AttrAV != 0 && out != nil && q.dgram == nil {
		out = q.shard.toward(out.index, path.Dst)
	}
	if mask&qp.AttrPathMTU != 0 {
		mtu, wrong = a.PathMTU, qp.AttrPathMTU
	}
	// The link of a way that stays may have got a smaller MTU: the path MTU stays as well.
	if chosen := mask&(qp.AttrAV|qp.AttrPathMTU) != 0; chosen && out != nil && mtu > out.mtu {
		return nil, path, refuse(wrong, "path MTU %d does not fit %v, whose MTU of %d bytes allows at most %d: give both ends %d or less, or raise the MTU of the network device",
			int(mtu), out.local, out.caps.MTU, int(out.mtu), int(out.mtu))
	}
	return out, path, nil
}

// route finds the entry that an address vector names and the path to its peer, or to a
// multicast group where that is allowed. A shard's lock or table is held.
func (d *Device) route(av *qp.AddressVector, group bool) (*gid, packet.Path, error) {
	g, err := d.gidAt(int(av.SGIDIndex))
	if err != nil {
		return nil, packet.Path{}, err
	}
	dst := av.DGID.Addr()
	switch {
	case dst.IsUnspecified(), dst.IsMulticast() && !group:
		return nil, packet.Path{}, fmt.Errorf("%v is not the GID of a peer", av.DGID)
	case !group && !d.Admits(dst):
		return nil, packet.Path{}, fmt.Errorf("%v is not among the peers that the device admits", dst)
	case dst.Is4() != g.local.Is4():
		return nil, packet.Path{}, fmt.Errorf("no way from GID %d (%v) to %v: one is IPv4, the other IPv6; the device has %s",
			g.index, g.local, dst, d.gidList())
	}
	if dst.IsLinkLocalUnicast() {
		dst = dst.WithZone(g.zone)
	}
	return g, packet.Path{
		Src: g.local, Dst: dst,
		TrafficClass: av.TrafficClass, HopLimit: hopLimit(av.HopLimit), FlowLabel: av.FlowLabel,
	}, nil
}

// hopLimit is what stands in the IP header: the kernel takes the route's instead of an
// address vector's, and tools such as ibv_rc_pingpong rely on that when they leave 1 or 0.
func hopLimit(av uint8) uint8 {
	if av <= 1 {
		return packet.DefaultHopLimit
	}
	return av
}

// maxFlowLabel is the largest flow label, 20 bits.
const maxFlowLabel = 1<<20 - 1

// CreateAH resolves an address vector for the datagrams of queue pairs of pd. The vector
// may lead to a multicast group.
func (d *Device) CreateAH(pd *mr.PD, av qp.AddressVector) (*transport.AH, error) {
	if av.FlowLabel > maxFlowLabel {
		return nil, fmt.Errorf("flow label %#x does not fit 20 bits", av.FlowLabel)
	}
	d.table.Lock()
	defer d.table.Unlock()
	g, path, err := d.route(&av, true)
	if err != nil {
		return nil, err
	}
	packet.Expect(g.link, path.Dst)
	return transport.NewAH(pd, av, g.index, path, g.mtu, g.hold()), nil
}

// ReplyVector is the way back to where the datagram with this header came from, by the
// address it was sent to. One that was sent to a multicast group is answered from the first
// address of its family and scope.
func (d *Device) ReplyVector(grh *transport.GRH) (qp.AddressVector, error) {
	src, dst, class, err := grh.Origin()
	if err != nil {
		return qp.AddressVector{}, err
	}
	d.table.RLock()
	defer d.table.RUnlock()
	for _, g := range d.gids {
		if g.link == nil {
			continue
		}
		fits := dst.IsMulticast() && g.local.Is4() == src.Is4() && g.local.IsLinkLocalUnicast() == src.IsLinkLocalUnicast()
		if g.local == dst || fits {
			return qp.AddressVector{
				DGID: qp.GIDFromAddr(src), SGIDIndex: uint8(g.index), TrafficClass: class &^ ecnBits,
			}, nil
		}
	}
	return qp.AddressVector{}, fmt.Errorf("the datagram was sent to %v, not to an address of this device: it has %s", dst, d.gidList())
}

const (
	// ecnBits of a traffic class say what happened to one packet on its way (RFC 3168), not
	// how its answer is to be treated.
	ecnBits = 3
	// ecnCE is their value where a switch on the way was congested.
	ecnCE = 3
)
