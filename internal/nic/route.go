package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// route finds the entry that an address vector names and the path to its peer, or to a
// multicast group where that is allowed. The shard's lock is held.
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
