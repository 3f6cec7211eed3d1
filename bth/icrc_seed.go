package bth

import "encoding/binary"

// Lengths of the headers before a RoCEv2 packet, in bytes.
const (
	IPv4HeaderLen = 20
	IPv6HeaderLen = 40
	UDPHeaderLen  = 8
)

const protocolUDP = 17

// lrhSeed is the CRC of eight bytes of ones, which replace the local route header that RoCEv2
// lacks (CA17-22a).
const lrhSeed uint32 = 0x2144df1c

// Header4 holds the fields of the IPv4 and UDP headers that the ICRC covers. The IPv4 header
// has no options (CA17-3). The type of service, time to live and both checksums are computed as
// ones, so they have no field.
type Header4 struct {
	Src, Dst         [4]byte
	ID               uint16 // identification
	FlagsFragment    uint16 // flags and fragment offset: 0x4000, "don't fragment" alone (CA17-7)
	SrcPort, DstPort uint16
	UDPLen           int // UDP length field: 8 + packet + 4 bytes of ICRC (CA17-21)
}

// Seed returns the running CRC of the headers before the BTH.
func (h *Header4) Seed() uint32 {
	be := binary.BigEndian
	var b [IPv4HeaderLen + UDPHeaderLen]byte
	b[0], b[1] = 0x45, 0xff
	be.PutUint16(b[2:], uint16(IPv4HeaderLen+h.UDPLen))
	be.PutUint16(b[4:], h.ID)
	be.PutUint16(b[6:], h.FlagsFragment)
	b[8], b[9] = 0xff, protocolUDP
	b[10], b[11] = 0xff, 0xff
	copy(b[12:16], h.Src[:])
	copy(b[16:20], h.Dst[:])
	putUDP((*[UDPHeaderLen]byte)(b[IPv4HeaderLen:]), h.SrcPort, h.DstPort, h.UDPLen)
	return updateSmall(lrhSeed, b[:])
}

// IDSeed returns the contribution of an IPv4 identification to the seed: because the CRC is
// linear, the seed for id is the seed for identification 0, XORed with IDSeed(id). With it, a
// sender or receiver of many packets that differ only in the identification computes one seed.
func IDSeed(id uint16) uint32 { return idSeeds[0][id>>8] ^ idSeeds[1][id&0xff] }

// idSeeds holds IDSeed of the upper and of the lower byte.
var idSeeds = makeIDSeeds()

func makeIDSeeds() *[2][256]uint32 {
	t := new([2][256]uint32)
	var h Header4
	zero := h.Seed()
	for v := range 256 {
		h.ID = uint16(v) << 8
		t[0][v] = h.Seed() ^ zero
		h.ID = uint16(v)
		t[1][v] = h.Seed() ^ zero
	}
	return t
}

// Header6 holds the fields of the IPv6 and UDP headers that the ICRC covers. The IPv6 header
// has no extension headers. Traffic class, flow label, hop limit and UDP checksum are computed
// as ones, so they have no field.
type Header6 struct {
	Src, Dst         [16]byte
	SrcPort, DstPort uint16
	UDPLen           int // UDP length field: 8 + packet + 4 bytes of ICRC (CA17-21)
}

// Seed returns the running CRC of the headers before the BTH.
func (h *Header6) Seed() uint32 {
	be := binary.BigEndian
	var b [IPv6HeaderLen + UDPHeaderLen]byte
	be.PutUint32(b[0:], 0x6fffffff)
	be.PutUint16(b[4:], uint16(h.UDPLen))
	b[6], b[7] = protocolUDP, 0xff
	copy(b[8:24], h.Src[:])
	copy(b[24:40], h.Dst[:])
	putUDP((*[UDPHeaderLen]byte)(b[IPv6HeaderLen:]), h.SrcPort, h.DstPort, h.UDPLen)
	return updateSmall(lrhSeed, b[:])
}

func putUDP(b *[UDPHeaderLen]byte, src, dst uint16, length int) {
	be := binary.BigEndian
	be.PutUint16(b[0:], src)
	be.PutUint16(b[2:], dst)
	be.PutUint16(b[4:], uint16(length))
	b[6], b[7] = 0xff, 0xff
}
