package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
)

// Port is the UDP destination port of RoCEv2.
const Port = 4791

const (
	protoUDP      = 17
	protoFragment = 44
	protoAH       = 51

	udpLen = bth.UDPHeaderLen

	moreFragments4 = 0x2000
	offset4        = 0x1fff
	maxExtensions  = 16
)

// datagram is a UDP datagram to the RoCEv2 port.
type datagram struct {
	src, dst netip.AddrPort
	ip       IP
	// h4 or h6, depending on the IP version, is the input of the ICRC seed. seed sets UDPLen and
	// ID for each packet.
	h4 bth.Header4
	h6 bth.Header6
	// odd reports whether the IP header has options or extension headers, which RoCEv2 does not
	// use.
	odd     bool
	payload []byte // captured part of the UDP payload
	n       int    // length of the UDP payload on the wire
	fault   error  // what is wrong with the headers, or nil
}

// errFragment is the fault of a first fragment. Later fragments have no UDP header to identify
// them.
var errFragment = errors.New("first fragment of an IP datagram: not reassembled; RoCEv2 packets must not be fragmented")

// parse parses the IP and UDP headers in b. wire is the length of the IP datagram on the wire. The
// result is taken for a datagram to port 4791, with fault set if its headers are wrong.
func (d *datagram) parse(b []byte, wire int) Skip {
	d.fault, d.odd = nil, false
	switch {
	case len(b) == 0:
		return lacking(b, wire)
	case b[0]>>4 == 4:
		return d.parse4(b, wire)
	case b[0]>>4 == 6:
		return d.parse6(b, wire)
	}
	return SkipMalformed
}

// lacking returns the reason for incomplete headers: the capture's length limit, or a malformed
// frame.
func lacking(b []byte, wire int) Skip {
	if len(b) < wire {
		return SkipCut
	}
	return SkipMalformed
}

func (d *datagram) parse4(b []byte, wire int) Skip {
	be := binary.BigEndian
	if len(b) < bth.IPv4HeaderLen {
		return lacking(b, wire)
	}
	header := int(b[0]&0x0f) * 4
	total := int(be.Uint16(b[2:]))
	if total == 0 { // filled in by the NIC; senders with offload leave it 0
		total = wire
	}
	flags := be.Uint16(b[6:])
	switch {
	case header < bth.IPv4HeaderLen || total < header:
		return SkipMalformed
	case b[9] != protoUDP:
		return SkipOther
	case flags&offset4 != 0:
		return SkipFragment
	case len(b) < header+bth.UDPHeaderLen:
		return lacking(b, wire)
	case be.Uint16(b[header+2:]) != Port:
		return SkipOther
	case total < header+bth.UDPHeaderLen:
		return SkipMalformed
	}
	d.odd = header != bth.IPv4HeaderLen
	d.ip = IP{Version: 4, TrafficClass: b[1], HopLimit: b[8], ID: be.Uint16(b[4:])}
	d.h4 = bth.Header4{Src: [4]byte(b[12:]), Dst: [4]byte(b[16:]), FlagsFragment: flags, SrcPort: be.Uint16(b[header:]),
		DstPort: Port}
	d.src = netip.AddrPortFrom(netip.AddrFrom4(d.h4.Src), d.h4.SrcPort)
	d.dst = netip.AddrPortFrom(netip.AddrFrom4(d.h4.Dst), Port)
	if flags&moreFragments4 != 0 {
		d.fault = errFragment
	}
	d.cut(b[header:], total-header, wire-header)
	return taken
}

func (d *datagram) parse6(b []byte, wire int) Skip {
	be := binary.BigEndian
	if len(b) < bth.IPv6HeaderLen {
		return lacking(b, wire)
	}
	total := bth.IPv6HeaderLen + int(be.Uint16(b[4:]))
	if total == bth.IPv6HeaderLen {
		total = wire
	}
	at, first, skip := upper6(b, wire)
	if skip != taken {
		return skip
	}
	switch {
	case len(b) < at+bth.UDPHeaderLen:
		return lacking(b, wire)
	case be.Uint16(b[at+2:]) != Port:
		return SkipOther
	case total < at+bth.UDPHeaderLen:
		return SkipMalformed
	}
	d.odd = at != bth.IPv6HeaderLen
	d.ip = IP{Version: 6, TrafficClass: b[0]<<4 | b[1]>>4, HopLimit: b[7]}
	d.h6 = bth.Header6{Src: [16]byte(b[8:]), Dst: [16]byte(b[24:]), SrcPort: be.Uint16(b[at:]), DstPort: Port}
	d.src = netip.AddrPortFrom(netip.AddrFrom16(d.h6.Src), d.h6.SrcPort)
	d.dst = netip.AddrPortFrom(netip.AddrFrom16(d.h6.Dst), Port)
	if first {
		d.fault = errFragment
	}
	d.cut(b[at:], total-at, wire-at)
	return taken
}

// upper6 skips the IPv6 extension headers. If skip is taken, at is the offset of the UDP header and
// first reports whether the datagram is the first of several fragments.
func upper6(b []byte, wire int) (at int, first bool, skip Skip) {
	next, at := b[6], bth.IPv6HeaderLen
	for range maxExtensions {
		if next == protoUDP {
			return at, first, taken
		}
		if !isExtension(next) {
			return 0, false, SkipOther
		}
		if len(b) < at+8 {
			return 0, false, lacking(b, wire)
		}
		size := (int(b[at+1]) + 1) * 8
		switch next {
		case protoFragment:
			size = 8
			field := binary.BigEndian.Uint16(b[at+2:])
			if field>>3 != 0 {
				return 0, false, SkipFragment
			}
			first = first || field&1 != 0
		case protoAH:
			size = (int(b[at+1]) + 2) * 4
		}
		next = b[at]
		at += size
	}
	return 0, false, SkipMalformed
}

// isExtension reports whether next is an extension header that may precede UDP (IANA protocol
// numbers).
func isExtension(next byte) bool {
	switch next {
	case 0, 43, protoFragment, protoAH, 60, 135, 139, 140:
		return true
	}
	return false
}

// cut sets n and payload from b, which begins with the UDP header. ipLen is the length of UDP
// header and payload according to the IP header, wire the length on the wire.
func (d *datagram) cut(b []byte, ipLen, wire int) {
	udpLen := int(binary.BigEndian.Uint16(b[4:]))
	length := udpLen
	switch {
	case d.fault != nil:
		length = min(ipLen, wire)
	case ipLen > wire:
		d.fault = fmt.Errorf("the IP length exceeds the frame by %d bytes", ipLen-wire)
		length = min(udpLen, wire)
	case udpLen != ipLen:
		d.fault = fmt.Errorf("UDP length %d, but %d bytes according to the IP header", udpLen, ipLen)
		length = min(udpLen, ipLen)
	}
	length = max(length, bth.UDPHeaderLen)
	d.n = length - bth.UDPHeaderLen
	d.payload = b[bth.UDPHeaderLen:min(len(b), length)]
}

// seed returns the ICRC seed of a packet of n bytes with identification ip.ID+step.
func (d *datagram) seed(step uint16, n int) uint32 {
	if d.ip.Version == 4 {
		d.h4.ID = d.ip.ID + step
		d.h4.UDPLen = bth.UDPHeaderLen + n
		return d.h4.Seed()
	}
	d.h6.UDPLen = bth.UDPHeaderLen + n
	return d.h6.Seed()
}

// right reports whether p, as packet number index of the datagram, has a right ICRC.
func (d *datagram) right(index int, p []byte) bool {
	v := d.icrc(index, p).Verdict
	return v == Right || v == RightAsRxe
}

// icrc checks the ICRC of p, packet number index of the datagram. Senders with segmentation
// offload increment the identification from packet to packet; some NICs leave it unchanged.
func (d *datagram) icrc(index int, p []byte) ICRC {
	if len(p) < bth.BTHLen+bth.ICRCLen {
		return ICRC{}
	}
	body := p[:len(p)-bth.ICRCLen]
	v := ICRC{Verdict: Wrong, Wire: bth.ReadICRC(p)}
	seed := d.seed(uint16(index), len(p))
	v.Want = bth.ICRC(seed, body)
	switch {
	case v.Want == v.Wire:
		v.Verdict = Right
	case bth.CheckICRCRxeFlush(seed, p):
		v.Verdict = RightAsRxe
	case index > 0 && d.ip.Version == 4 && bth.ICRC(d.seed(0, len(p)), body) == v.Wire:
		v.Verdict, v.Want = Right, v.Wire
	case d.odd:
		v.Verdict = NotChecked // the ICRC over options or extension headers is not defined
	}
	return v
}

// derivedPort returns the UDP source port that Linux derives from both queue pair numbers for a
// connection without a flow label.
func derivedPort(x, y bth.QPN) uint16 {
	v := uint64(x) * uint64(y)
	v ^= v >> 20
	v ^= v >> 40
	fl := uint32(v & 0xfffff)
	return uint16(0xc000 | (fl&0x3fff ^ fl>>14))
}
