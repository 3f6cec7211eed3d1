package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// gid is an entry of the GID table: a link and the address it sends from. It does not
// change while the device is open.
type gid struct {
	index int
	link  packet.Link
	caps  packet.Caps
	local netip.Addr // without zone
	zone  string     // of a link-local address
	mtu   qp.MTU     // largest path MTU
}

// newGIDs makes the GID table of the links, in their order.
func newGIDs(links []packet.Link) ([]*gid, error) {
	if len(links) == 0 {
		return nil, errors.New("a device needs at least one link")
	}
	if len(links) > maxGIDs {
		return nil, fmt.Errorf("%d addresses are more than the %d GIDs that an address vector can name: open the device on one of them", len(links), maxGIDs)
	}
	var gids []*gid
	for i, l := range links {
		local := l.Local()
		g := &gid{index: i, link: l, caps: l.Caps(), local: local.WithZone("").Unmap(), zone: local.Zone()}
		if !local.IsValid() {
			return nil, fmt.Errorf("link %d (%s) has no local address", i, g.caps.Name)
		}
		if g.mtu = qp.MTUForLink(g.caps.MTU); !g.mtu.Valid() {
			return nil, fmt.Errorf("the MTU of %v is %d bytes: RoCE needs at least %d", local, g.caps.MTU, smallestMTU)
		}
		gids = append(gids, g)
	}
	return gids, nil
}

// maxGIDs is how many entries ibv_ah_attr's index has names for.
const maxGIDs = 256

// smallestMTU is the least MTU of a network device that carries the least path MTU.
const smallestMTU = int(qp.MinMTU) + 80

// route finds the entry that an address vector names and the path to its peer, or to a
// multicast group where that is allowed.
func (d *Device) route(av *qp.AddressVector, group bool) (*gid, packet.Path, error) {
	if int(av.SGIDIndex) >= len(d.gids) {
		return nil, packet.Path{}, fmt.Errorf("there is no GID with index %d: the device has %s", av.SGIDIndex, d.gidList())
	}
	g := d.gids[av.SGIDIndex]
	dst := av.DGID.Addr()
	switch {
	case dst.IsUnspecified(), dst.IsMulticast() && !group:
		return nil, packet.Path{}, fmt.Errorf("%v is not the GID of a peer", av.DGID)
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

func (d *Device) gidList() string {
	var b strings.Builder
	for i, g := range d.gids {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d (%v)", i, g.local)
	}
	return b.String()
}

// GID describes one entry of the GID table.
type GID struct {
	Index int
	Addr  netip.Addr // with the zone of a link-local address
	Caps  packet.Caps
	MTU   qp.MTU // largest path MTU
}

// GIDs returns the GID table.
func (d *Device) GIDs() []GID {
	out := make([]GID, 0, len(d.gids))
	for _, g := range d.gids {
		out = append(out, GID{Index: g.index, Addr: g.local.WithZone(g.zone), Caps: g.caps, MTU: g.mtu})
	}
	return out
}
