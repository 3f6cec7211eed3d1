package admit

import (
	"cmp"
	"net/netip"
	"slices"
)

// Hosts are the addresses that may send to a device: disjoint ranges in ascending order, so that
// a lookup is a binary search. The zero value contains all addresses.
type Hosts []addressRange

type addressRange struct{ first, last netip.Addr }

// NewHosts returns the addresses that any of the prefixes contains; without prefixes, all
// addresses.
func NewHosts(prefixes []netip.Prefix) (h Hosts) {
	for _, p := range prefixes {
		h = append(h, addressRange{p.Masked().Addr(), lastOf(p)})
	}
	slices.SortFunc(h, func(x, y addressRange) int {
		return cmp.Or(x.first.Compare(y.first), y.last.Compare(x.last)) // longer ranges first
	})
	merged := h[:0]
	for _, r := range h {
		// Two prefixes are disjoint, or one contains the other.
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

// Has reports whether the host may send to the device.
func (h Hosts) Has(host netip.Addr) bool { return len(h) == 0 || h.contains(host) }

func (h Hosts) contains(host netip.Addr) bool {
	host = host.Unmap().WithZone("")
	i, found := slices.BinarySearchFunc(h, host, func(r addressRange, a netip.Addr) int { return r.first.Compare(a) })
	return found || i > 0 && !h[i-1].last.Less(host)
}
