package bth_test

// bitwiseICRC computes the ICRC of a whole IP datagram bit by bit as the standard specifies it,
// independently of the package under test: a shift register processes eight bytes of ones, the
// headers with their variant fields set to ones, and the packet except its last four bytes.
func bitwiseICRC(ip []byte) uint32 {
	covered := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ip[:len(ip)-4]...)
	outer := covered[8:]
	udp := 20
	if ip[0]>>4 == 6 {
		udp = 40
		outer[0] |= 0x0f                                // traffic class, upper half
		outer[1], outer[2], outer[3] = 0xff, 0xff, 0xff // lower half, flow label
		outer[7] = 0xff                                 // hop limit
	} else {
		outer[1] = 0xff                   // type of service
		outer[8] = 0xff                   // time to live
		outer[10], outer[11] = 0xff, 0xff // header checksum
	}
	outer[udp+6], outer[udp+7] = 0xff, 0xff // UDP checksum
	outer[udp+8+4] = 0xff                   // FECN, BECN, reserved
	return bitwiseCRC(covered)
}

// bitwiseCRC is the CRC-32 of IEEE 802.3, one bit at a time.
func bitwiseCRC(b []byte) uint32 {
	register := ^uint32(0)
	for _, v := range b {
		for i := range 8 {
			feedback := register&1 ^ uint32(v>>i&1)
			register >>= 1
			if feedback == 1 {
				register ^= 0xedb88320
			}
		}
	}
	return ^register
}
