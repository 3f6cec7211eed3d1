package nic

import (
	"cmp"
	"net/netip"
	"slices"
)

// admission holds the addresses of the hosts that may talk to a device: ranges in ascending order,
// disjoint, so that a look-up is a binary search. An empty admission is all hosts.
type admission []addressRange

type addressRange struct{ first, last netip.Addr }

func newAdmission(peers []netip.Prefix) (a admission) {
	for _, p := range peers {
		a = append(a, addressRange{p.Masked().Addr(), lastOf(p)})
	}
	slices.SortFunc(a, func(x, y addressRange) int {
		return cmp.Or(x.first.Compare(y.first), y.last.Compare(x.last)) // the longer first
	})
	merged := a[:0]
	for _, r := range a {
		// Two prefixes are apart, or one holds the other.
		if n := len(merged); n == 0 || merged[n-1].last.Less(r.first) {
			merged = append(merged, r)
		}
	}
	return merged
}

// lastOf returns the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// has reports whether a host may talk to the device.
func (a admission) has(host netip.Addr) bool { return len(a) == 0 || a.holds(host) }

func (a admission) holds(host netip.Addr) bool {
	host = host.Unmap().WithZone("")
	i, found := slices.BinarySearchFunc(a, host, func(r addressRange, h netip.Addr) int { return r.first.Compare(h) })
	return found || i > 0 && !a[i-1].last.Less(host)
}

// Admits is true for a host that may talk to the device. Packets of others are dropped
// before anything is computed for them, except those to QP1: the connection manager has an
// answer for them. No connection leads to them.
func (d *Device) Admits(peer netip.Addr) bool { return d.peers.has(peer) }
