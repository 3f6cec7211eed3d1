package join

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// hash accumulates a 64-bit hash. It is not cryptographic: an attacker can construct packets with
// the same hash, which are then compared by their ICRC only.
type hash uint64

// add mixes v into h (the mixing step of wyhash: a 128-bit product, folded).
func (h hash) add(v uint64) hash {
	hi, lo := bits.Mul64(uint64(h)^0xa0761d6478bd642f, v^0xe7037ed1a0b428db)
	return hash(hi ^ lo)
}

func (h hash) addr(a netip.Addr) hash {
	b := a.As16()
	return h.add(binary.BigEndian.Uint64(b[:8])).add(binary.BigEndian.Uint64(b[8:]))
}

// keyOf returns the hash of what is equal in both captures of a packet: addresses, UDP source port,
// IP identification, length, and the captured transport headers except resv8a of the BTH, which the
// network may change (FECN, BECN) and the ICRC excludes; see [bth.ICRC].
func keyOf(p *trace.Packet) uint64 {
	h := hash(1).addr(p.Src.Addr()).addr(p.Dst.Addr())
	h = h.add(uint64(p.Src.Port())<<48 | uint64(p.IP.ID)<<32 | uint64(uint32(p.Len)))
	n := max(p.BTH.Opcode.Info().HeaderLen, bth.BTHLen)
	b := p.Bytes[:min(n, len(p.Bytes))]
	for i := 0; len(b) >= 4; i++ {
		w := binary.BigEndian.Uint32(b)
		if i == 1 {
			w &= 0x00ffffff // resv8a
		}
		h = h.add(uint64(w))
		b = b[4:]
	}
	return uint64(h)
}
