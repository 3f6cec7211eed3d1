package specs

var (
	mac1 = []byte{2, 0, 0, 0, 0, 1}
	mac2 = []byte{2, 0, 0, 0, 0, 2}
	ip1  = []byte{198, 18, 0, 2}
	ip2  = []byte{198, 18, 0, 3}
)

// ether returns an Ethernet frame, padded to 60 bytes.
func ether(kind uint16, payload []byte) []byte {
	b := join(mac2, mac1, kind, payload)
	for len(b) < 60 {
		b = append(b, 0)
	}
	return b
}

// ipv4 returns an IPv4 datagram (RFC 791), with its checksum.
func ipv4(protocol int, src, dst, payload []byte) []byte {
	h := join(0x45, 0, uint16(20+len(payload)), uint16(0x1234), uint16(0x4000), 64, protocol, uint16(0), src, dst)
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(h[i])<<8 | uint32(h[i+1])
	}
	sum = sum&0xffff + sum>>16
	sum = ^(sum&0xffff + sum>>16)
	h[10], h[11] = byte(sum>>8), byte(sum)
	return append(h, payload...)
}

func udp(src, dst uint16, payload []byte) []byte {
	return join(src, dst, uint16(8+len(payload)), uint16(0), payload)
}

// bth returns a base transport header (IBA 9.2).
func bth(opcode, flags int, destQP, psn uint32) []byte {
	return join(opcode, flags, uint16(0xffff), destQP&0xffffff, psn)
}

const ackReq = 0x80000000 // in the last word of the BTH

// roce2 returns an IPv4 datagram with a RoCEv2 packet (IBA A17): a WRITE of 64 bytes.
func roce2(psn uint32) []byte {
	p := join(bth(0x0a, 0x40, 0x11, psn|ackReq), uint64(0x1000), uint32(0x22), uint32(64), pattern(64))
	d := ipv4(17, ip1, ip2, udp(50000, 4791, append(p, 0, 0, 0, 0)))
	return icrc(d, 28, []int{1, 8, 10, 11, 26, 27})
}

// icrc sets the ICRC at the end of a datagram or packet b, whose BTH is at offset at: the CRC-32 of
// eight bytes of ones and b, with ones at the offsets that may change in transit, and in byte 4 of
// the BTH (IBA 7.8.1, A17.3.3).
func icrc(b []byte, at int, variant []int) []byte {
	m := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, b[:len(b)-4]...)
	for _, i := range append(variant, at+4) {
		m[8+i] = 0xff
	}
	return putLE(b, crc32(m))
}

// putLE sets the last four bytes of b, least significant first.
func putLE(b []byte, v uint32) []byte {
	n := len(b) - 4
	b[n], b[n+1], b[n+2], b[n+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	return b
}

// vxlanGPE: draft-ietf-nvo3-vxlan-gpe-13, section 3: IPv4 and Ethernet inside.
func vxlanGPE() []byte {
	in := func(next int, b []byte) []byte {
		return ether(0x0800, ipv4(17, []byte{10, 9, 0, 1}, []byte{10, 9, 0, 2},
			udp(40000, 4790, join(0x0c, 0, 0, next, uint32(102<<8), b))))
	}
	return pcap(ethernet, in(1, roce2(1)), in(3, ether(0x0800, roce2(2))))
}

// geneveOptions: RFC 8926, section 3.5: two options, of 4 and 8 bytes of data.
func geneveOptions() []byte {
	options := join(uint16(0x0102), 0x01, 1, uint32(7), uint16(0x0103), 0x02, 2, uint64(9))
	return pcap(ethernet, ether(0x0800, ipv4(17, []byte{10, 9, 0, 1}, []byte{10, 9, 0, 2},
		udp(40000, 6081, join(len(options)/4, 0, uint16(0x6558), uint32(202<<8), options, ether(0x0800, roce2(1)))))))
}

// label returns an MPLS label stack entry (RFC 3032, section 2.1).
func label(v uint32, bottom bool) uint32 {
	w := v<<12 | 64
	if bottom {
		w |= 0x100
	}
	return w
}

// mplsPseudowire: RFC 4448, section 4: Ethernet with and without a control word; RFC 7510: in UDP;
// RFC 4023: in GRE.
func mplsPseudowire() []byte {
	frame := ether(0x0800, roce2(1))
	outer := func(protocol int, b []byte) []byte {
		return ether(0x0800, ipv4(protocol, []byte{10, 9, 0, 1}, []byte{10, 9, 0, 2}, b))
	}
	stack := join(label(16, false), label(17, true))
	return pcap(ethernet,
		ether(0x8847, join(stack, uint32(5), frame)),
		ether(0x8847, join(stack, frame)),
		ether(0x8848, join(label(18, true), roce2(2))),
		outer(17, udp(40000, 6635, join(stack, roce2(3)))),
		outer(47, join(uint16(0), uint16(0x8847), stack, roce2(4))),
		outer(137, join(stack, roce2(5))))
}

// erspanSubheader: draft-foschiano-erspan-03, sections 4.3 and 4.4: type III with a
// platform-specific subheader, with granularity 100 ns, VLAN 7, COS 3; and with an IP packet
// instead of a frame (FT 2).
func erspanSubheader() []byte {
	outer := func(b []byte) []byte {
		return ether(0x0800, ipv4(47, []byte{10, 9, 0, 1}, []byte{10, 9, 0, 2}, join(uint16(0x1000), uint16(0x22eb),
			b)))
	}
	head := join(uint16(0x2007), uint16(3<<13|21))
	return pcap(ethernet,
		outer(join(uint32(1), head, uint32(123456), uint16(0), uint16(2<<4|1<<1|1), uint64(3)<<58, ether(0x0800,
			roce2(1)))),
		outer(join(uint32(2), head, uint32(123457), uint16(0), uint16(2<<10|2<<4|1<<3|2<<1), roce2(2))))
}

// pauseFrames: IEEE 802.3, annex 31B (pause) and 31D (PFC, IEEE 802.1Qbb).
func pauseFrames() []byte {
	frame := func(b []byte) []byte {
		f := ether(0x8808, b)
		copy(f, []byte{1, 0x80, 0xc2, 0, 0, 1})
		return f
	}
	times := func(class int, v uint16) []byte {
		b := make([]byte, 16)
		b[2*class], b[2*class+1] = byte(v>>8), byte(v)
		return b
	}
	both := times(3, 65535)
	both[8], both[9] = 0x10, 0
	return pcap(ethernet,
		frame(join(uint16(0x0101), uint16(1<<3), times(3, 65535))),
		frame(join(uint16(0x0101), uint16(1<<3|1<<4), both)),
		frame(join(uint16(0x0101), uint16(1<<3), times(3, 0))),
		frame(join(uint16(0x0001), uint16(65535))),
		frame(join(uint16(0x0001), uint16(0))),
		ether(0x0800, roce2(1)))
}

// ultraEthernet: Ultra Ethernet specification 1.0, PDS header formats.
func ultraEthernet() []byte {
	// pds returns a prologue: type (5 bits), next header (4 bits), flags (7 bits).
	pds := func(kind, next, flags int) uint16 { return uint16(kind<<11 | next<<7 | flags) }
	packet := func(parts ...any) []byte {
		return ether(0x0800, ipv4(17, ip1, ip2, udp(50001, 4793, join(parts...))))
	}
	return pcap(ethernet,
		packet(pds(2, 3, 0x0c), uint16(0), uint32(1000), uint16(5), uint16(0), pattern(44)), // RUD_REQ, SYN
		packet(pds(7, 4, 0), uint16(0), uint32(1000), uint16(6), uint16(5), pattern(12)),    // ACK
		packet(pds(3, 3, 0x18), uint16(0), uint32(1001), uint16(5), uint16(6), pattern(60)), // ROD_REQ, again
		packet(pds(10, 0, 0), 1, 1, uint32(1001), uint16(6), uint16(5), uint32(0)),          // NACK
		packet(pds(11, 6, 0x08), uint16(9), uint32(1002), uint16(5), uint16(6), uint32(0)),  // CP, probe
		packet(pds(8, 4, 0x20), uint16(0), uint32(1002), uint16(6), uint16(5), pattern(20)), // ACK_CC
		packet(pds(4, 3, 0), uint16(0), uint32(77), pattern(44)),                            // RUDI_REQ
		packet(pds(5, 4, 0), uint16(0), uint32(77), pattern(12)),                            // RUDI_RESP
		packet(pds(6, 3, 0), uint16(0), pattern(44)),                                        // UUD_REQ
		packet(pds(1, 0, 0), uint16(0), pattern(40)))                                        // TSS
}

// others has frames of protocols that are only named.
func others() []byte {
	return pcap(ethernet,
		ether(0x0806, make([]byte, 28)),
		ether(0x88cc, []byte{2, 7, 4}), ether(0x88cc, []byte{2, 7, 4}), ether(0x88cc, []byte{2, 7, 4}),
		ether(38, []byte{0x42, 0x42, 3, 0}),
		ether(0x0800, ipv4(1, ip1, ip2, []byte{8, 0, 0, 0})),
		ether(0x0800, ipv4(17, ip1, ip2, udp(40000, 53, pattern(20)))),
		ether(0x0800, ipv4(17, ip1, ip2, udp(40000, 53, pattern(20)))),
		ether(0x0800, ipv4(6, ip1, ip2, tcp(40000, 22, 1, 2, pattern(40)))),
		ether(0x1234, pattern(40)))
}

// tcp returns a TCP segment (RFC 9293) without options and checksum.
func tcp(src, dst uint16, seq, ack uint32, payload []byte) []byte {
	return join(src, dst, seq, ack, 0x50, 0x18, uint16(1000), uint32(0), payload)
}
