package wire

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// etherTypeV1 is the EtherType of RoCEv1 (IBA annex A16).
const etherTypeV1 = 0x8915

const (
	grhLen       = 40
	grhTransport = 0x1b // NxtHdr of a GRH before a BTH
)

// frameV1 returns the payload of a RoCEv1 frame, GRH to ICRC, and the bytes from BTH to ICRC.
func (p *Packet) frameV1(src, dst netip.Addr) (frame, payload []byte) {
	grh := make([]byte, grhLen)
	grh[0], grh[1], grh[6], grh[7] = 6<<4|p.TOS>>4, p.TOS<<4, grhTransport, p.ttl()
	s, d := src.As16(), dst.As16()
	copy(grh[8:], s[:])
	copy(grh[24:], d[:])
	payload = p.payloadWith(func(n int) uint32 {
		binary.BigEndian.PutUint16(grh[4:], uint16(n))
		return seedV1(grh)
	})
	return append(grh, payload...), payload
}

// seedV1 returns the ICRC seed of a packet with a GRH (IBA 7.8.1): traffic class, flow label and
// hop limit are computed as ones.
func seedV1(grh []byte) uint32 {
	h := append([]byte(nil), grh[:grhLen]...)
	maskFlow(h)
	return crc32.Update(onesCRC, crc32.IEEETable, h)
}

// receivedV1 decodes the payload of a RoCEv1 frame. It returns nil if it has no GRH before a BTH.
func receivedV1(b []byte) *Received {
	if len(b) < grhLen || b[0]>>4 != 6 || b[6] != grhTransport {
		return nil
	}
	n := grhLen + int(binary.BigEndian.Uint16(b[4:]))
	b = b[:min(n, len(b))]
	src, dst := netip.AddrFrom16([16]byte(b[8:24])).Unmap(), netip.AddrFrom16([16]byte(b[24:40])).Unmap()
	r := &Received{V1: true, IP: b, Bytes: b[grhLen:], TOS: b[0]<<4 | b[1]>>4, TTL: b[7],
		Src: netip.AddrPortFrom(src, 0), Dst: netip.AddrPortFrom(dst, 0)}
	r.decode()
	return r
}
