package icrc

import "slices"

// A sender with UDP segmentation offload passes many packets to the kernel in one datagram, and
// on links without a wire (veth, loopback) a capture shows that datagram as a whole. All its
// segments have the same length except the last, which may be shorter. The length is not
// captured, so check tries candidates.

// maxSegment is the maximum length of a RoCEv2 packet: the largest headers (BTH and AtomicETH, or
// BTH, RETH and ImmDt), 4096 bytes of payload, and the ICRC.
const maxSegment = 4096 + bthLen + 28 + icrcLen

// verdict is the result of checking one captured datagram.
type verdict struct {
	Packets int // number of RoCEv2 packets in the datagram
	Bad     int // number of packets with a wrong ICRC
	// Size is the length in bytes of each packet except the last, or of the whole payload if
	// there is one packet.
	Size int
}

// check verifies every packet of the datagram. If no likely segment length matches and thorough
// is set, it tries all others.
func (d datagram) check(thorough bool) verdict {
	n := len(d.payload)
	if d.valid(0, d.payload) {
		return verdict{Packets: 1, Size: n}
	}
	for _, size := range candidates(d.payload, thorough) {
		if d.valid(0, d.payload[:size]) {
			return d.walk(size)
		}
	}
	// The first packet is bad for every length, but a later one may still reveal the length.
	best := verdict{Packets: 1, Bad: 1, Size: n}
	for _, size := range likely(d.payload) {
		if v := d.walk(size); size < n && v.Packets-v.Bad > best.Packets-best.Bad {
			best = v
		}
	}
	return best
}

// walk checks the packets of a datagram whose segments have the given length.
func (d datagram) walk(size int) verdict {
	v := verdict{Size: size}
	for p := range slices.Chunk(d.payload, size) {
		if !d.valid(v.Packets, p) {
			v.Bad++
		}
		v.Packets++
	}
	return v
}

// candidates returns the segment lengths to try: the likely ones, then every possible one.
// Packets are padded to 4 bytes.
func candidates(payload []byte, thorough bool) []int {
	out := likely(payload)
	for size := minRoCE; thorough && size <= min(maxSegment, len(payload)-1); size += 4 {
		out = append(out, size)
	}
	return slices.DeleteFunc(out, func(size int) bool { return size >= len(payload) })
}

// pathMTUs are the path MTUs of IBA volume 1, 9.4.3. 0 stands for packets without payload:
// acknowledgements and READ requests.
var pathMTUs = []int{4096, 2048, 1024, 512, 256, 0}

// likely returns the lengths of full packets with the headers of the first opcode.
func likely(payload []byte) []int {
	var out []int
	for _, m := range pathMTUs {
		out = append(out, bthLen+extended(payload[0])+m+icrcLen)
	}
	return out
}

// extended returns the length in bytes of the headers after the BTH for the RC opcodes (IBA
// volume 1, table 38), 0 for others.
func extended(opcode byte) int {
	switch opcode {
	case 0x03, 0x05, 0x09: // SEND LAST/ONLY and WRITE LAST with immediate
		return 4
	case 0x06, 0x0a, 0x0c: // WRITE FIRST, WRITE ONLY, READ REQUEST
		return 16
	case 0x0b: // WRITE ONLY with immediate
		return 20
	case 0x0d, 0x0f, 0x10, 0x11: // READ RESPONSE FIRST, LAST, ONLY; ACKNOWLEDGE
		return 4
	case 0x12: // ATOMIC ACKNOWLEDGE
		return 12
	case 0x13, 0x14: // CMP SWAP, FETCH ADD
		return 28
	case 0x16, 0x17: // SEND LAST/ONLY with invalidate
		return 4
	case rcFlush:
		return 20
	case 0x1d: // ATOMIC WRITE
		return 16
	}
	return 0
}
