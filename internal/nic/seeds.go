package nic

import (
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// seeds gives the ICRC's beginning, over the IP and UDP headers, and remembers it for the peers and lengths of the
// last packets: those that follow each other mostly differ in the IPv4 identification alone.
type seeds [seedSlots]struct {
	src, dst    netip.Addr
	len         int
	port, flags uint16
	seed        uint32 // for identification 0
}

// seedSlots is a power of two. Packets of different lengths, which are multiples of four, use different ones.
const seedSlots = 16

// of returns the seed of a packet with the fields that the ICRC covers; len is that of the UDP payload with its ICRC.
func (s *seeds) of(src, dst netip.Addr, port, id, flags uint16, n int) uint32 {
	e := &s[n/4&(seedSlots-1)]
	if e.len != n || e.port != port || e.flags != flags || e.src != src || e.dst != dst {
		e.src, e.dst, e.len, e.port, e.flags = src, dst, n, port, flags
		e.seed = seedWithoutID(src, dst, port, flags, bth.UDPHeaderLen+n)
	}
	if !src.Is4() {
		return e.seed
	}
	return e.seed ^ bth.IDSeed(id)
}

func seedWithoutID(src, dst netip.Addr, port, flags uint16, udpLen int) uint32 {
	if src.Is4() {
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: flags, SrcPort: port, DstPort: packet.Port, UDPLen: udpLen}
		return h.Seed()
	}
	h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: port, DstPort: packet.Port, UDPLen: udpLen}
	return h.Seed()
}
