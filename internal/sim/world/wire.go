package world

import (
	"encoding/binary"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

const srcPort = 0xc000 // UDP source port of every frame

// Seal builds the IP datagram of f, with its ICRC. id is the IPv4 identification.
func Seal(f *packet.Frame, id uint16) []byte {
	n := f.Len() + bth.ICRCLen
	udpLen := bth.UDPHeaderLen + n
	src, dst := f.Path.Src, f.Path.Dst
	b := make([]byte, 0, bth.IPv6HeaderLen+udpLen)
	if src.Is4() {
		b = ipv4(b, src, dst, id, udpLen)
	} else {
		b = ipv6(b, src, dst, udpLen)
	}
	be := binary.BigEndian
	b = be.AppendUint16(b, srcPort)
	b = be.AppendUint16(b, packet.Port)
	b = be.AppendUint16(b, uint16(udpLen))
	b = be.AppendUint16(b, 0)
	b = f.AppendTo(b)
	// The IP and UDP length fields already include the ICRC; SeedIP reads only the headers.
	b = append(b, 0, 0, 0, 0)
	seed, payload, err := bth.SeedIP(b)
	if err != nil {
		return b // the receiver rejects it
	}
	body := len(payload) - bth.ICRCLen
	icrc := bth.ICRC
	if f.Seal == transport.SealRxeFlushICRC {
		icrc = bth.ICRCRxeFlush
	}
	binary.LittleEndian.PutUint32(payload[body:], icrc(seed, payload[:body]))
	return b
}

func ipv4(b []byte, src, dst netip.Addr, id uint16, udpLen int) []byte {
	be := binary.BigEndian
	b = append(b, 0x45, 0)
	b = be.AppendUint16(b, uint16(bth.IPv4HeaderLen+udpLen))
	b = be.AppendUint16(b, id)
	b = be.AppendUint16(b, packet.DontFragment)
	b = append(b, packet.DefaultHopLimit, 17, 0, 0)
	s, d := src.As4(), dst.As4()
	b = append(append(b, s[:]...), d[:]...)
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(be.Uint16(b[i:]))
	}
	sum = sum&0xffff + sum>>16
	be.PutUint16(b[10:], ^uint16(sum+sum>>16))
	return b
}

func ipv6(b []byte, src, dst netip.Addr, udpLen int) []byte {
	b = append(b, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(udpLen))
	b = append(b, 17, packet.DefaultHopLimit)
	s, d := src.As16(), dst.As16()
	return append(append(b, s[:]...), d[:]...)
}

// Open validates a datagram as a receiving node does and decodes its packet into p. It accepts
// both forms of the ICRC ([bth.CheckICRC], [bth.CheckICRCRxeFlush]) and reports whether the
// datagram is valid.
func Open(raw []byte, p *bth.Packet) bool {
	seed, payload, err := bth.SeedIP(raw)
	return err == nil && p.Decode(payload) == nil &&
		(bth.CheckICRC(seed, payload) || bth.CheckICRCRxeFlush(seed, payload))
}

// flip inverts bits of the UDP payload. It avoids byte 4 of the BTH, the only byte that the ICRC
// does not cover.
func (f *Frame) flip(ft *fate) {
	head := bth.IPv4HeaderLen + bth.UDPHeaderLen
	if f.Raw[0]>>4 == 6 {
		head = bth.IPv6HeaderLen + bth.UDPHeaderLen
	}
	body := f.Raw[head:]
	var done [3]uint32
	for i, bit := range ft.bits[:ft.flips] {
		bit %= uint32(8 * len(body))
		if bit/8 == 4 {
			bit += 8 // FECN, BECN and reserved bits are not covered
		}
		for _, d := range done[:i] {
			if d == bit+1 {
				return // flipping one bit twice would restore it
			}
		}
		done[i] = bit + 1
		body[bit/8] ^= 1 << (bit % 8)
		f.Damaged = true
	}
}
