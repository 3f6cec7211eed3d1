package report

import (
	"encoding/binary"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/trace/capture"
)

const (
	protocolUDP  = 17
	nextIBA      = 0x1b // next header of a GRH
	typeRoCEv1   = 0x8915
	defaultTTL   = 64
	dontFragment = 0x4000
)

// frameOf returns the bytes of e as a frame: the IP packet, or an Ethernet frame without addresses
// if e is a GRH of RoCEv1. If e has no IP packet, frameOf makes one.
func frameOf(e *conformance.Entry) (capture.LinkType, []byte) {
	switch {
	case e.IP == nil:
		return capture.LinkRaw, ipOf(e)
	case len(e.IP) > 6 && e.IP[0]>>4 == 6 && e.IP[6] == nextIBA:
		return capture.LinkEthernet, append(binary.BigEndian.AppendUint16(make([]byte, 12), typeRoCEv1), e.IP...)
	}
	return capture.LinkRaw, e.IP
}

// ipOf returns the IP packet of e. Its IPv4 identification is that for which the ICRC is right, or
// 0.
func ipOf(e *conformance.Entry) []byte {
	src, dst := e.Src.Addr().Unmap(), e.Dst.Addr().Unmap()
	ttl := e.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}
	n := bth.UDPHeaderLen + len(e.Bytes)
	be := binary.BigEndian
	var b []byte
	if src.Is4() && dst.Is4() {
		b = ipv4(src, dst, e, n, ttl)
	} else {
		s, d := src.As16(), dst.As16()
		b = be.AppendUint32(b, 6<<28|uint32(e.TOS)<<20)
		b = be.AppendUint16(b, uint16(n))
		b = append(append(append(b, protocolUDP, ttl), s[:]...), d[:]...)
	}
	b = be.AppendUint16(b, e.Src.Port())
	b = be.AppendUint16(b, e.Dst.Port())
	b = be.AppendUint16(b, uint16(n))
	b = be.AppendUint16(b, 0) // no checksum
	return append(b, e.Bytes...)
}

// ipv4 returns the header of an IPv4 packet with n bytes of payload.
func ipv4(src, dst netip.Addr, e *conformance.Entry, n int, ttl uint8) []byte {
	h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: dontFragment, SrcPort: e.Src.Port(),
		DstPort: e.Dst.Port(), UDPLen: n}
	id, _ := bth.SolveID(&h, e.Bytes)
	be := binary.BigEndian
	b := be.AppendUint16([]byte{0x45, e.TOS}, uint16(bth.IPv4HeaderLen+n))
	b = be.AppendUint16(b, id)
	b = be.AppendUint16(b, dontFragment)
	b = append(b, ttl, protocolUDP, 0, 0)
	b = append(append(b, h.Src[:]...), h.Dst[:]...)
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(be.Uint16(b[i:]))
	}
	sum = sum&0xffff + sum>>16
	be.PutUint16(b[10:], ^uint16(sum+sum>>16))
	return b
}
