package trace

import (
	"github.com/gorxe/gorxe/bth"
)

// A sender with UDP segmentation offload hands many packets to the kernel as one datagram, a receiver may put them together
// again, and captures on the hosts (or on veth and loopback, where nobody cuts it) show it whole. All packets in it have the
// same length except the last, which may be shorter. The length itself is not captured. It is found by the ICRCs: it is the
// one with which they are right.

const (
	minPacket = bth.BTHLen + bth.ICRCLen
	// maxSearches is after how many datagrams without any right ICRC the search for unlikely lengths ends: in a capture whose
	// addresses were replaced, say, it would find nothing.
	maxSearches = 64
)

// pathMTUs are those of the IBA; 0 is for packets without payload.
var pathMTUs = [...]int{4096, 2048, 1024, 512, 256, 0}

// splitter finds the lengths of packets.
type splitter struct {
	last     int // length that was right last
	searches int // without success, in a row
}

// size returns the length of each packet of d but the last, or the datagram's own if it is one packet. It is 0 if there are
// several and nothing tells where they begin. v is what a check of it as one packet has found.
func (s *splitter) size(d *datagram, v ICRC) int {
	n := d.n
	if v.Verdict == Right || v.Verdict == RightAsRxe || n < 2*minPacket || len(d.payload) < bth.BTHLen {
		return n
	}
	op := bth.Opcode(d.payload[0]).Info()
	if size := s.likely(d, op); size != 0 {
		s.last, s.searches = size, 0
		return size
	}
	if s.searches < maxSearches {
		if size := search(d); size != 0 {
			s.last, s.searches = size, 0
			return size
		}
		s.searches++
	}
	if plausible(d, op) {
		return n
	}
	if size := s.guess(d, op); size != 0 {
		return size
	}
	if n > bth.MaxPacketLen {
		return 0
	}
	return n
}

// candidate is the i-th length that is worth trying first: what was right before, then full packets of the first opcode.
func (s *splitter) candidate(i int, op *bth.OpcodeInfo) int {
	if i == 0 {
		return s.last
	}
	return op.HeaderLen + pathMTUs[i-1] + bth.ICRCLen
}

const candidates = 1 + len(pathMTUs)

// likely tries the lengths that most senders use: first whether the first packet is right, then whether a later one is.
func (s *splitter) likely(d *datagram, op *bth.OpcodeInfo) int {
	for i := range candidates {
		if size := s.candidate(i, op); d.fits(size) && d.packetRight(0, size) {
			return size
		}
	}
	best, most := 0, 0
	for i := range candidates {
		size := s.candidate(i, op)
		if !d.fits(size) {
			continue
		}
		right := 0
		for at := 1; at*size < len(d.payload); at++ {
			if d.packetRight(at, size) {
				right++
			}
		}
		if right > most {
			best, most = size, right
		}
	}
	return best
}

// search tries every length with the first three packets: one that is wrong, or two, do not hide the others.
func search(d *datagram) int {
	for at := range 3 {
		for size := minPacket; size <= min(bth.MaxPacketLen, d.n-minPacket); size += 4 {
			if at*size >= len(d.payload) {
				break
			}
			if d.fits(size) && d.packetRight(at, size) {
				return size
			}
		}
	}
	return 0
}

// fits reports whether the datagram can be packets of the size and a last one.
func (d *datagram) fits(size int) bool {
	if size < minPacket || size >= d.n {
		return false
	}
	rest := d.n % size
	return rest == 0 || rest >= minPacket
}

// packetRight reports whether the packet with that index is right if all have the size. It is not if it was not captured whole.
func (d *datagram) packetRight(index, size int) bool {
	begin := index * size
	end := min(begin+size, d.n)
	return begin < end && end <= len(d.payload) && d.right(index, d.payload[begin:end])
}

// plausible reports whether the datagram can be one packet, by its headers and length.
func plausible(d *datagram, op *bth.OpcodeInfo) bool {
	payload := d.n - op.HeaderLen - bth.ICRCLen
	switch {
	case !op.Valid || d.payload[1]&0x0f != 0 || payload < 0 || payload > bth.MaxPayload || payload%4 != 0:
		return false
	case payload > 0 && !op.Payload:
		return false
	case op.Pos == bth.First || op.Pos == bth.Middle:
		for _, mtu := range pathMTUs {
			if payload == mtu {
				return true
			}
		}
		return false
	}
	return true
}

// guess returns a likely length with which headers that fit together stand wherever a packet would begin. This is for
// datagrams whose ICRCs are all wrong or not captured.
func (s *splitter) guess(d *datagram, op *bth.OpcodeInfo) int {
	for i := range candidates {
		if size := s.candidate(i, op); d.fits(size) && d.headersFit(size) {
			return size
		}
	}
	return 0
}

// headersFit reports whether all packets of the size begin with a valid opcode and go to the same queue pair. At least the
// beginning of the second must have been captured.
func (d *datagram) headersFit(size int) bool {
	first := d.payload
	seen := 0
	for at := size; at+bth.BTHLen <= len(d.payload); at += size {
		b := d.payload[at:]
		if !bth.Opcode(b[0]).Valid() || b[1]&0x0f != 0 || [3]byte(b[5:]) != [3]byte(first[5:]) {
			return false
		}
		seen++
	}
	return seen > 0
}
