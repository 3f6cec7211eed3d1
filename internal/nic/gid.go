package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"weak"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// gid is an entry of the GID table: an address, and the link that sends from it while the host
// has the address. The address does not change: if another address gets the entry's index, that
// is another gid.
type gid struct {
	index  int
	local  netip.Addr // without zone
	zone   string     // zone of a link-local address
	maxMTU qp.MTU     // largest path MTU that the device offers, 0: any

	// Changed with Device.linking, all shards' locks and Device.table held, read with any of
	// them.
	link      packet.Link    // nil while the address is absent
	queues    []packet.Queue // receive queues of link, one per shard, or nil
	wire      *attachedLink  // attachedLink of link
	caps      packet.Caps    // capabilities of link, or of the previous link
	mtu       qp.MTU         // largest path MTU of link, or of the previous link
	errAbsent error          // error for uses of the entry while its address is absent
	removedAt uint64         // Device.departures when the address was removed: a larger number is later

	// Guarded by Device.table.
	lease     *lease // reference that keeps the index in use; nil while the address is absent
	weakLease weak.Pointer[lease]
}

// lease is referenced by the address handles of an entry, and by the entry itself while its address
// is present. Handles are not released explicitly, so the garbage collector determines when an
// entry whose address is absent has none left.
type lease struct{ of *gid }

// newGID returns an entry for l without index. maxMTU is the upper limit of the path MTU, 0: none.
// If there are several shards, it splits l into one receive queue per shard if l supports that.
func newGID(l packet.Link, maxMTU qp.MTU, shards int) (*gid, error) {
	local, caps := l.Local(), l.Caps()
	if !local.IsValid() {
		return nil, fmt.Errorf("the link (%s) has no local address", caps.Name)
	}
	g := &gid{link: l, caps: caps, maxMTU: maxMTU, local: local.WithZone("").Unmap(), zone: local.Zone()}
	var err error
	if g.mtu, err = g.pathMTU(caps); err != nil || shards == 1 {
		return g, err
	}
	g.queues, err = packet.Split(l, shards)
	if errors.Is(err, errors.ErrUnsupported) {
		return g, nil
	}
	return g, err
}

// pathMTU returns the largest path MTU of a link with these capabilities.
func (g *gid) pathMTU(caps packet.Caps) (qp.MTU, error) {
	mtu := qp.MTUForLink(caps.MTU)
	if !mtu.Valid() {
		return 0, fmt.Errorf("the MTU of %v is %d bytes: RoCE needs at least %d", g.addr(), caps.MTU, smallestMTU)
	}
	if g.maxMTU > 0 {
		mtu = min(mtu, g.maxMTU)
	}
	return mtu, nil
}

// addr returns the address with its zone.
func (g *gid) addr() netip.Addr { return g.local.WithZone(g.zone) }

// free reports whether another address may get the index of g: the address of g is absent, and no
// queue pair or address handle refers to g. All shards' locks and table are held.
func (d *Device) free(g *gid) bool {
	for _, s := range d.shards {
		if s.out[g.index].used() || d.loopback && s.loops[g.index].used() {
			return false
		}
	}
	return g.link == nil && g.weakLease.Value() == nil
}

// hold returns the lease of an entry whose address is present. Device.table is held.
func (g *gid) hold() *lease {
	if g.lease == nil {
		if g.lease = g.weakLease.Value(); g.lease == nil {
			g.lease = &lease{of: g}
			g.weakLease = weak.Make(g.lease)
		}
	}
	return g.lease
}

// maxGIDs is the number of values of ibv_ah_attr's sgid_index.
const maxGIDs = 256

// smallestMTU is the smallest MTU of a network device that carries the smallest path MTU.
const smallestMTU = int(qp.MinMTU) + 80

// place returns the index for g in the table: the former index of its address, otherwise a new
// index, otherwise the index of the free entry (see free) whose address has been absent for the
// longest time. linking, all shards' locks and table are held.
func (d *Device) place(g *gid) (index int, err error) {
	oldest := -1
	for i, old := range d.gids {
		switch {
		case old.addr() == g.addr() && old.link == nil:
			return i, nil
		case old.addr() == g.addr():
			err = fmt.Errorf("%v is GID %d of the device already", g.addr(), i)
		case d.free(old) && (oldest < 0 || old.removedAt < d.gids[oldest].removedAt):
			oldest = i
		}
	}
	switch {
	case err != nil:
		return 0, err
	case len(d.gids) < maxGIDs:
		return len(d.gids), nil
	case oldest < 0:
		return 0, fmt.Errorf("no room for %v: all %d entries of the GID table are addresses of the device, or of queue pairs and address handles whose addresses may come back", g.addr(), maxGIDs)
	}
	return oldest, nil
}

// gidAt returns the entry with the given index, whose address must be present. A shard's lock or
// table is held.
func (d *Device) gidAt(index int) (*gid, error) {
	if index < 0 || index >= len(d.gids) {
		return nil, fmt.Errorf("there is no GID with index %d: the device has %s", index, d.gidList())
	}
	g := d.gids[index]
	if g.link == nil {
		return nil, fmt.Errorf("%w: the device has %s", g.errAbsent, d.gidList())
	}
	return g, nil
}

// errAbsent means that an address of the GID table is not present on this host.
var errAbsent = errors.New("is away: this host does not have the address now")

// setAbsent records that the address was removed; when is the value of removedAt. All locks that
// changes of the table need are held.
func (g *gid) setAbsent(when uint64) {
	g.link, g.queues, g.wire, g.lease, g.removedAt = nil, nil, nil, nil, when
	g.errAbsent = fmt.Errorf("GID %d (%v) %w", g.index, g.addr(), errAbsent)
}

// gidList lists the addresses that are present, for error messages. A shard's lock or table is
// held.
func (d *Device) gidList() string {
	var list []string
	for _, g := range d.gids {
		if g.link != nil {
			list = append(list, fmt.Sprintf("%d (%v)", g.index, g.local))
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// GID describes an entry of the GID table.
type GID struct {
	Index int
	Addr  netip.Addr // with the zone of a link-local address
	Caps  packet.Caps
	MTU   qp.MTU // largest path MTU
}

// GIDs returns the entries of the GID table whose addresses are present, by index. It waits for
// no shard.
func (d *Device) GIDs() []GID {
	d.table.RLock()
	defer d.table.RUnlock()
	out := make([]GID, 0, len(d.gids))
	for _, g := range d.gids {
		if g.link != nil {
			out = append(out, GID{Index: g.index, Addr: g.addr(), Caps: g.caps, MTU: g.mtu})
		}
	}
	return out
}

// GIDTableLen returns one more than the largest index in use so far.
func (d *Device) GIDTableLen() int {
	d.table.RLock()
	defer d.table.RUnlock()
	return len(d.gids)
}

// setOutbox sets q's outbox and path; nil means none.
func (q *QP) setOutbox(out *outbox, path packet.Path) {
	elsewhere := q.out != out || q.path.Dst != path.Dst
	if elsewhere && q.peerSeen {
		if q.out.link != nil {
			packet.Release(q.out.link, q.path.Dst)
		}
		q.peerSeen = false
	}
	// Frames of unreliable queue pairs are lost if their first burst is longer than the queue of
	// frames that wait for a neighbour, so the link resolves the neighbour now.
	if elsewhere && out != nil && q.dgram == nil {
		packet.ResolveSoon(out.link, path.Dst)
	}
	q.path, q.remote = path, path.Dst.WithZone("")
	q.joinShare(out)
	q.registerSender()
	if q.out == out {
		return
	}
	if q.out != nil {
		q.out.remove(q)
	}
	// Datagram queue pairs do not count as users: their address handles keep the entries in use.
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

// registerSender registers the permitted sender of q, its peer or any host, for the receivers of
// other shards.
func (q *QP) registerSender() {
	if s := q.shard; s.multi && !q.closed {
		s.dev.senders.set(q.attr.Num, sender{addr: q.remote, anybody: q.dgram != nil})
	}
}

// onFirstAccepted handles the first packet that q has accepted from its peer: from now on the link
// keeps state for the peer (packet.Hold). Before that, the address of the peer may come from a
// forged connection request.
func (q *QP) onFirstAccepted() {
	q.peerSeen = true
	packet.Hold(q.out.link, q.path.Dst)
}

// pathFor returns the outbox and the path that q will have once the attributes of a that mask
// selects are set.
func (q *QP) pathFor(a *qp.Attr, mask qp.AttrMask) (*outbox, packet.Path, error) {
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
		out = q.shard.outboxFor(out.index, path.Dst)
	}
	if mask&qp.AttrPathMTU != 0 {
		mtu, wrong = a.PathMTU, qp.AttrPathMTU
	}
	// If the path stays, the path MTU stays too, even if the MTU of the link has become smaller.
	if chosen := mask&(qp.AttrAV|qp.AttrPathMTU) != 0; chosen && out != nil && mtu > out.mtu {
		return nil, path, refuse(wrong, "path MTU %d does not fit %v, whose MTU of %d bytes allows at most %d: give both ends %d or less, or raise the MTU of the network device",
			int(mtu), out.local, out.caps.MTU, int(out.mtu), int(out.mtu))
	}
	return out, path, nil
}

// route returns the entry that an address vector refers to and the path to its destination. If
// group is set, that may be a multicast group, and a peer need not be admitted. A shard's lock or
// table is held.
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
		return nil, packet.Path{}, fmt.Errorf(
			"no way from GID %d (%v) to %v: one is IPv4, the other IPv6; the device has %s",
			g.index, g.local, dst, d.gidList())
	}
	if dst.IsLinkLocalUnicast() {
		dst = dst.WithZone(g.zone)
	}
	return g, packet.Path{
		Src: g.local, Dst: dst,
		TrafficClass: av.TrafficClass, HopLimit: HopLimit(av.HopLimit), FlowLabel: av.FlowLabel,
	}, nil
}

// HopLimit returns the hop limit of the IP header for av, the hop limit of an address vector: 0 and
// 1 mean [packet.DefaultHopLimit]. The kernel uses the hop limit of the route instead, so tools
// such as ibv_rc_pingpong set 1 or 0.
func HopLimit(av uint8) uint8 {
	if av <= 1 {
		return packet.DefaultHopLimit
	}
	return av
}

// maxFlowLabel is the largest flow label, 20 bits.
const maxFlowLabel = 1<<20 - 1

// CreateAH resolves an address vector for the datagrams of queue pairs of pd. The destination may
// be a multicast group.
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
	packet.ResolveSoon(g.link, path.Dst)
	return transport.NewAH(pd, av, g.index, path, g.mtu, g.hold()), nil
}

// ReplyVector returns the address vector for a reply to a datagram with the given header. The reply
// is sent from the destination address of the datagram. If that is a multicast group, the reply is
// sent from the first address of the same family and scope.
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
		fits := dst.IsMulticast() && g.local.Is4() == src.Is4() &&
			g.local.IsLinkLocalUnicast() == src.IsLinkLocalUnicast()
		if g.local == dst || fits {
			return qp.AddressVector{
				DGID: qp.GIDFromAddr(src), SGIDIndex: uint8(g.index), TrafficClass: class &^ ecnBits,
			}, nil
		}
	}
	return qp.AddressVector{}, fmt.Errorf("the datagram was sent to %v, not to an address of this device: it has %s",
		dst, d.gidList())
}

const (
	// ecnBits is the mask of the ECN field in a traffic class. The field describes what happened to
	// one packet on its path (RFC 3168), so it is not copied to the reply.
	ecnBits = 3
	// ecnCE is the value of the ECN field if a switch on the path was congested.
	ecnCE = 3
)
