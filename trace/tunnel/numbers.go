package tunnel

// VLANTypes returns the EtherTypes of VLAN tags: IEEE 802.1Q, 802.1ad, and two older types of outer
// tags.
func VLANTypes() []uint16 { return []uint16{0x8100, 0x88a8, 0x9100, 0x9200} }

// UDPPorts returns the UDP destination ports of the tunnels that Peel removes.
func UDPPorts() []uint16 {
	return []uint16{portVXLAN, portVXLANLinux, portVXLANGPE, portGeneve, portMPLS}
}

// Protocols returns the IP protocol numbers of the tunnels that Peel removes, without UDP.
func Protocols() []uint8 { return []uint8{protoIPv4, protoIPv6, protoGRE, protoMPLS} }

// Extensions returns the protocol numbers of the IPv6 extension headers that ParseIP skips.
func Extensions() []uint8 {
	var all []uint8
	for n := range 256 {
		if isExtension(uint8(n)) {
			all = append(all, uint8(n))
		}
	}
	return all
}
