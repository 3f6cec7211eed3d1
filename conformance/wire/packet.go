package wire

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// Port is the UDP destination port of RoCEv2.
const Port = 4791

// Packet is a packet to send. The zero value of a field outside the embedded bth.Packet means what
// a correct sender does.
type Packet struct {
	bth.Packet

	// Src is the source address; the zero Addr means that of the link. A UDP link can use only
	// addresses of this host.
	Src        netip.Addr
	SrcPort    uint16 // UDP source port; 0: that of the link
	TOS        uint8  // IPv4 type of service, IPv6 traffic class
	TTL        uint8  // IPv4 time to live, IPv6 hop limit; 0: 64
	NoChecksum bool   // only a raw link: UDP checksum 0
	V1         bool   // only a raw link: a RoCEv1 frame, with a GRH instead of IP and UDP headers

	// Edit changes the bytes from the BTH to the pad, before the ICRC is computed.
	Edit func(b []byte) []byte
	// Damage changes the whole UDP payload, after the ICRC was appended.
	Damage func(b []byte) []byte
	// Header changes the IP packet, from the IP header on, after everything else; of a RoCEv1
	// frame, from the GRH on. Only a raw link can send such a packet. The IPv4 header checksum is
	// computed afterwards, unless KeepSum is set. [FixICRC] and [FixUDP] compute the others.
	Header  func(ip []byte) []byte
	KeepSum bool
	// SkipICRC appends no ICRC.
	SkipICRC bool

	// IP is an output: a raw link sets it to the IP packet that it sent.
	IP []byte
}

// NeedsRaw reports whether only a raw link can send p.
func (p *Packet) NeedsRaw() bool { return p.Header != nil || p.NoChecksum || p.V1 }

// source returns the source address and port of p, sent over a link at an address.
func (p *Packet) source(local netip.Addr) (netip.Addr, uint16) {
	src, port := local, uint16(Port)
	if p.Src.IsValid() {
		src = p.Src.Unmap()
	}
	if p.SrcPort != 0 {
		port = p.SrcPort
	}
	return src, port
}

// defaultTTL is the time to live of a packet without one.
const defaultTTL = 64

func (p *Packet) ttl() uint8 {
	if p.TTL == 0 {
		return defaultTTL
	}
	return p.TTL
}

// payload returns the UDP payload of p, sent from a port of src to dst: BTH to ICRC. id is the IPv4
// identification.
func (p *Packet) payload(src, dst netip.Addr, port, id uint16) []byte {
	return p.payloadWith(func(n int) uint32 { return seed(src, dst, port, id, n) })
}

// payloadWith returns BTH to ICRC. seed returns the ICRC seed of n such bytes.
func (p *Packet) payloadWith(seed func(n int) uint32) []byte {
	b := p.Append(nil)
	if p.Edit != nil {
		b = p.Edit(b)
	}
	if !p.SkipICRC {
		b = bth.AppendICRC(b, bth.ICRC(seed(len(b)+bth.ICRCLen), b))
	}
	if p.Damage != nil {
		b = p.Damage(b)
	}
	return b
}

// seed returns the ICRC seed of an unfragmented datagram to port 4791 with n bytes of payload.
func seed(src, dst netip.Addr, port, id uint16, n int) uint32 {
	if src.Is4() {
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), ID: id, FlagsFragment: dontFragment, SrcPort: port,
			DstPort: Port, UDPLen: 8 + n}
		return h.Seed()
	}
	h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: port, DstPort: Port, UDPLen: 8 + n}
	return h.Seed()
}

const dontFragment = 0x4000

// Received is a packet that arrived at port 4791.
type Received struct {
	bth.Packet
	Err error // of the decoder; the fields of Packet are then not valid

	At       time.Time
	Src, Dst netip.AddrPort
	TOS, TTL uint8
	Bytes    []byte // UDP payload: BTH to ICRC
	IP       []byte // the whole IP packet, or the payload of a RoCEv1 frame; nil from a UDP link
	V1       bool   // a RoCEv1 frame
	ICRC     ICRC
}

// To returns the destination queue pair, also of a packet that cannot be decoded.
func (r *Received) To() bth.QPN {
	if len(r.Bytes) < bth.BTHLen {
		return 0
	}
	return bth.QPN(r.Bytes[5])<<16 | bth.QPN(r.Bytes[6])<<8 | bth.QPN(r.Bytes[7])
}

// ICRC is the result of the check of an ICRC.
type ICRC uint8

const (
	Right ICRC = iota
	// RightForID is an ICRC that is right for some IPv4 identification. A UDP link does not see it.
	RightForID
	Wrong
)

func (i ICRC) String() string {
	return [...]string{"right", "right for an identification", "wrong"}[min(i, Wrong)]
}

// decode sets the fields of r that follow from Bytes, Src, Dst and IP.
func (r *Received) decode() {
	r.Err = r.Packet.Decode(r.Bytes)
	n := len(r.Bytes) - bth.ICRCLen
	if n < bth.BTHLen {
		r.ICRC = Wrong
		return
	}
	src, dst := r.Src.Addr(), r.Dst.Addr()
	switch {
	case r.V1:
		r.ICRC = verdict(bth.CheckICRC(seedV1(r.IP), r.Bytes))
	case r.IP != nil:
		s, _, err := bth.SeedIP(r.IP)
		r.ICRC = verdict(err == nil && bth.CheckICRC(s, r.Bytes))
	case src.Is4():
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: dontFragment, SrcPort: r.Src.Port(),
			DstPort: Port, UDPLen: 8 + len(r.Bytes)}
		if _, ok := bth.SolveID(&h, r.Bytes); ok {
			r.ICRC = RightForID
		} else {
			r.ICRC = Wrong
		}
	default:
		r.ICRC = verdict(bth.CheckICRC(seed(src, dst, r.Src.Port(), 0, n+bth.ICRCLen), r.Bytes))
	}
}

func verdict(ok bool) ICRC {
	if ok {
		return Right
	}
	return Wrong
}
