package encap

import "net/netip"

// MulticastMAC returns the Ethernet address of an IP multicast group: 01:00:5e and the lower 23
// bits of an IPv4 group (RFC 1112), 33:33 and the lower 32 bits of an IPv6 group (RFC 2464).
func MulticastMAC(group netip.Addr) MAC {
	if group.Is4() {
		a := group.As4()
		return MAC{0x01, 0x00, 0x5e, a[1] & 0x7f, a[2], a[3]}
	}
	a := group.As16()
	return MAC{0x33, 0x33, a[12], a[13], a[14], a[15]}
}
