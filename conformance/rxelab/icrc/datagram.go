package icrc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// Port is the UDP destination port of RoCEv2 (IBA annex A17.4.5.1).
const Port = 4791

const (
	ipv4Len   = 20
	ipv6Len   = 40
	udpLen    = 8
	bthLen    = 12
	icrcLen   = 4
	protoUDP  = 17
	rcFlush   = 0x1c // BTH opcode
	frameHead = 14   // Ethernet header
	typeIPv4  = 0x0800
	typeIPv6  = 0x86dd
)

// minRoCE is the minimum length of the UDP payload of a RoCEv2 packet.
const minRoCE = bthLen + icrcLen

// ErrNotRoCE reports that a frame is not a RoCEv2 packet.
var ErrNotRoCE = errors.New("not a RoCEv2 packet")

// datagram is a UDP datagram to the RoCEv2 port with its headers.
type datagram struct {
	ip, udp []byte // headers
	payload []byte
}

// parse finds the RoCEv2 datagram in an Ethernet frame. It returns ErrNotRoCE for other traffic,
// and another error for a packet to the RoCEv2 port that is incomplete.
func parse(frame []byte) (datagram, error) {
	if len(frame) < frameHead {
		return datagram{}, ErrNotRoCE
	}
	ip := frame[frameHead:]
	var headLen, total int
	switch binary.BigEndian.Uint16(frame[12:]) {
	case typeIPv4:
		if len(ip) < ipv4Len || ip[0] != 0x45 || ip[9] != protoUDP {
			return datagram{}, ErrNotRoCE
		}
		headLen, total = ipv4Len, int(binary.BigEndian.Uint16(ip[2:]))
	case typeIPv6:
		if len(ip) < ipv6Len || ip[0]>>4 != 6 || ip[6] != protoUDP {
			return datagram{}, ErrNotRoCE
		}
		headLen, total = ipv6Len, ipv6Len+int(binary.BigEndian.Uint16(ip[4:]))
	default:
		return datagram{}, ErrNotRoCE
	}
	if len(ip) < headLen+udpLen || binary.BigEndian.Uint16(ip[headLen+2:]) != Port {
		return datagram{}, ErrNotRoCE
	}
	d := datagram{ip: ip[:headLen], udp: ip[headLen : headLen+udpLen]}
	if headLen == ipv4Len && binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
		return d, errors.New("IP fragment")
	}
	if len(ip) < total {
		return d, fmt.Errorf("captured %d of %d bytes", len(ip), total)
	}
	if n := int(binary.BigEndian.Uint16(d.udp[4:])); n != total-headLen || n < udpLen {
		return d, fmt.Errorf("UDP length %d in an IP payload of %d bytes", n, total-headLen)
	}
	d.payload = ip[headLen+udpLen : total]
	if len(d.payload) < minRoCE {
		return d, fmt.Errorf("UDP payload of %d bytes is too short for BTH and ICRC", len(d.payload))
	}
	return d, nil
}

// source returns the source address of the datagram.
func (d datagram) source() netip.Addr {
	at, n := 8, 16
	if len(d.ip) == ipv4Len {
		at, n = 12, 4
	}
	a, _ := netip.AddrFromSlice(d.ip[at:][:n])
	return a
}

// segment returns the register after the masked headers of the packet that a network card would
// send for the index-th segment of length n: with its own lengths and, on IPv4, its own
// identification, which Linux increments.
func (d datagram) segment(index, n int) register {
	r := start.feed([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // in place of the LRH
	var h [ipv6Len]byte
	ip := h[:copy(h[:], d.ip)]
	if len(ip) == ipv4Len {
		ip[1], ip[8], ip[10], ip[11] = 0xff, 0xff, 0xff, 0xff // ToS, TTL, header checksum
		binary.BigEndian.PutUint16(ip[2:], uint16(ipv4Len+udpLen+n))
		binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(d.ip[4:])+uint16(index))
	} else {
		ip[0] |= 0x0f // traffic class and flow label
		ip[1], ip[2], ip[3], ip[7] = 0xff, 0xff, 0xff, 0xff
		binary.BigEndian.PutUint16(ip[4:], uint16(udpLen+n))
	}
	udp := [udpLen]byte{6: 0xff, 7: 0xff}
	copy(udp[:4], d.udp)
	binary.BigEndian.PutUint16(udp[4:], uint16(udpLen+n))
	return r.feed(ip).feed(udp[:])
}

// valid reports whether p, the index-th segment of d, has the correct ICRC.
func (d datagram) valid(index int, p []byte) bool {
	if len(p) < minRoCE {
		return false
	}
	body, tail := p[:len(p)-icrcLen], p[len(p)-icrcLen:]
	r := d.segment(index, len(p)).feed(body[:4]).feed([]byte{0xff}).feed(body[5:]) // byte 4: FECN, BECN, reserved
	want := binary.LittleEndian.Uint32(tail)
	// Linux rxe computes the CRC over a FLUSH twice, and accepts no other.
	return r.sum() == want || body[0] == rcFlush && r.feed(body).sum() == want
}
