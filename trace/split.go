package trace

import (
	"github.com/gorxe/gorxe/bth"
)

// A sender with UDP segmentation offload passes many packets to the kernel as one datagram; a
// receiver with receive offload may merge them again. Captures on these hosts, and on veth and
// loopback, contain the merged datagram. All packets in it have the same length except the last,
// which may be shorter. That length is not captured. splitter finds it with the ICRCs: they are
// right only for the correct length.

const (
	minPacket = bth.BTHLen + bth.ICRCLen
	// maxSearches is the number of consecutive datagrams without any right ICRC after which
	// splitter stops to search for unlikely lengths. In a capture with rewritten addresses, for
	// example, it would never succeed.
	maxSearches = 64
)

// pathMTUs are the path MTUs of the IBA; 0 is for packets without payload.
var pathMTUs = [...]int{4096, 2048, 1024, 512, 256, 0}

// splitter finds the packet lengths in merged datagrams.
type splitter struct {
	last     int // last successful length
	searches int // consecutive failed searches
}

// size returns the length that all packets of d have except the last. It is d.n if d is one packet,
// and 0 if d has several packets of unknown length. v is the ICRC check of d as one packet.
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

// candidate returns the i-th likely length. The first is the last successful one; the others are
// those of a packet with the first opcode and one path MTU of payload.
func (s *splitter) candidate(i int, op *bth.OpcodeInfo) int {
	if i == 0 {
		return s.last
	}
	return op.HeaderLen + pathMTUs[i-1] + bth.ICRCLen
}

const candidates = 1 + len(pathMTUs)

// likely returns a candidate with which the first packet has a right ICRC; else the one with which
// most later packets have; else 0.
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

// search returns a length with which one of the first three packets has a right ICRC, so up to two
// may be corrupt; else 0.
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

// fits reports whether the datagram can consist of packets of size bytes and a shorter last one.
func (d *datagram) fits(size int) bool {
	if size < minPacket || size >= d.n {
		return false
	}
	rest := d.n % size
	return rest == 0 || rest >= minPacket
}

// packetRight reports whether packet number index, with packets of size bytes, is complete and
// has a right ICRC.
func (d *datagram) packetRight(index, size int) bool {
	begin := index * size
	end := min(begin+size, d.n)
	return begin < end && end <= len(d.payload) && d.right(index, d.payload[begin:end])
}

// plausible reports whether headers and length of d permit a single packet.
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

// guess returns a candidate with which all packets have consistent headers, for datagrams whose
// ICRCs are all wrong or not captured; 0 if there is none.
func (s *splitter) guess(d *datagram, op *bth.OpcodeInfo) int {
	for i := range candidates {
		if size := s.candidate(i, op); d.fits(size) && d.headersFit(size) {
			return size
		}
	}
	return 0
}

// headersFit reports whether all packets, each of length size, have a valid opcode and the same
// destination queue pair. At least the BTH of the second must have been captured.
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
