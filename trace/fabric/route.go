package fabric

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"

	"github.com/gorxe/gorxe/trace/tunnel"
)

// LRH holds the fields of a local route header (IBA 7.7) and the variant CRC after the packet (IBA
// 7.8.2).
type LRH struct {
	VL         uint8 // virtual lane
	Version    uint8 // link version (LVer), 0
	SL         uint8 // service level
	Next       uint8 // link next header (LNH): 2 BTH, 3 GRH
	DLID, SLID uint16
	Len        int // packet length from LRH to ICRC in bytes; on the wire in words of 4 bytes
	VCRC       VCRC
}

// VCRC is the variant CRC of a packet (IBA 7.8.2). On the wire, the least significant byte is first.
type VCRC struct {
	Captured   bool   // else Wire and Want are 0
	Wire, Want uint16 // value in the packet and right value
}

// Wrong reports whether the VCRC was captured and is wrong.
func (v VCRC) Wrong() bool { return v.Captured && v.Wire != v.Want }

// GRH holds the fields of a global route header (IBA 8.3).
type GRH struct {
	Version      uint8 // 6
	TrafficClass uint8
	FlowLabel    uint32 // 20 bits
	Len          int    // payload length in bytes: BTH to ICRC
	Next         uint8  // next header: 0x1b, a BTH
	HopLimit     uint8
	SGID, DGID   netip.Addr // GIDs of IPv4 addresses are IPv4 addresses, as in CM messages
}

const (
	LRHLen  = 8 // bytes
	GRHLen  = 40
	vcrcLen = 2

	// Values of LRH.Next.
	NextBTH = 2
	NextGRH = 3

	grhNextBTH = 0x1b
)

// Parse parses the LRH at at, and checks the VCRC. The verdict is Inside, Cut or Broken; rest is the
// place after it, without the VCRC.
func (l *LRH) Parse(at tunnel.Place) (rest tunnel.Place, v tunnel.Verdict) {
	be := binary.BigEndian
	b := at.Data
	if len(b) < LRHLen {
		return at, at.Lacking()
	}
	*l = LRH{VL: b[0] >> 4, Version: b[0] & 15, SL: b[1] >> 4, Next: b[1] & 3, DLID: be.Uint16(b[2:]),
		Len: int(be.Uint16(b[4:])&0x7ff) * 4, SLID: be.Uint16(b[6:])}
	if l.Len < LRHLen || l.Len > max(at.Wire, len(b)) {
		return at, tunnel.Broken
	}
	if len(b) >= l.Len+vcrcLen {
		l.VCRC = VCRC{true, binary.LittleEndian.Uint16(b[l.Len:]), vcrc(b[:l.Len])}
	}
	return tunnel.Place{Data: b[LRHLen:min(len(b), l.Len)], Wire: l.Len - LRHLen}, tunnel.Inside
}

// Parse parses the GRH at at. The verdict is Inside if a BTH follows, Cut or Broken; rest is the place
// after it, without padding of the link.
func (g *GRH) Parse(at tunnel.Place) (rest tunnel.Place, v tunnel.Verdict) {
	be := binary.BigEndian
	b := at.Data
	if len(b) < GRHLen {
		return at, at.Lacking()
	}
	*g = GRH{Version: b[0] >> 4, TrafficClass: b[0]<<4 | b[1]>>4, FlowLabel: be.Uint32(b) & 0xfffff,
		Len: int(be.Uint16(b[4:])), Next: b[6], HopLimit: b[7], SGID: gidAddr(b[8:]), DGID: gidAddr(b[24:])}
	wire := max(at.Wire, len(b))
	if g.Version != 6 || g.Next != grhNextBTH || g.Len > wire-GRHLen && !at.Truncated {
		return at, tunnel.Broken
	}
	return tunnel.Place{Data: b[GRHLen:min(len(b), GRHLen+g.Len)], Wire: g.Len}, tunnel.Inside
}

func gidAddr(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b)).Unmap() }

// Seeder computes the running CRC of the headers before a BTH, with which the ICRC begins. Its
// buffer saves allocations.
type Seeder struct{ masked [GRHLen]byte }

// Local returns the running CRC of the LRH that b, of at least 8 bytes, begins with, for packets
// without GRH. The virtual lane is computed as ones (IBA 7.8.1).
func (s *Seeder) Local(b []byte) uint32 {
	m := s.masked[:LRHLen]
	copy(m, b)
	m[0] |= 0xf0
	return crc32.ChecksumIEEE(m)
}

// ones is the running CRC of an LRH that is replaced with ones.
var ones = crc32.ChecksumIEEE([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})

// Global returns the running CRC of the GRH that b, of at least 40 bytes, begins with. The LRH, which
// routers change and RoCEv1 lacks, is replaced with ones; traffic class, flow label and hop limit are
// computed as ones (IBA 7.8.1).
func (s *Seeder) Global(b []byte) uint32 {
	m := s.masked[:]
	copy(m, b)
	m[0] |= 0x0f
	m[1], m[2], m[3], m[7] = 0xff, 0xff, 0xff, 0xff
	return crc32.Update(ones, crc32.IEEETable, m)
}

// vcrcPolynomial is x^16 + x^12 + x^3 + x + 1 (0x100b), least significant bit first.
const vcrcPolynomial = 0xd008

var vcrcTable = func() (t [256]uint16) {
	for i := range t {
		v := uint16(i)
		for range 8 {
			if v&1 != 0 {
				v = v>>1 ^ vcrcPolynomial
			} else {
				v >>= 1
			}
		}
		t[i] = v
	}
	return t
}()

// vcrc returns the variant CRC of b, from LRH to ICRC (IBA 7.8.2).
func vcrc(b []byte) uint16 {
	v := uint16(0xffff)
	for _, c := range b {
		v = v>>8 ^ vcrcTable[byte(v)^c]
	}
	return ^v
}
