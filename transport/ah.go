package transport

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// AH is the address handle of the datagram machines. It never changes: frames in flight
// and any number of work requests point to it at once, and the last of them lets go of it.
type AH struct {
	pd     *mr.PD
	vector qp.AddressVector
	path   packet.Path
	link   int
	mtu    uint32
	keep   any
}

// NewAH returns the handle for a vector that leads by the link with the given index over
// path, with a payload of up to mtu bytes a datagram. What keep points to is held as long as
// somebody has the handle.
func NewAH(pd *mr.PD, vector qp.AddressVector, link int, path packet.Path, mtu qp.MTU, keep any) *AH {
	return &AH{pd: pd, vector: vector, path: path, link: link, mtu: uint32(mtu), keep: keep}
}

// PD returns the domain that the handle was made in.
func (a *AH) PD() *mr.PD {
	if a == nil {
		return nil
	}
	return a.pd
}

// Vector returns what the handle was made from.
func (a *AH) Vector() qp.AddressVector {
	if a == nil {
		return qp.AddressVector{}
	}
	return a.vector
}

// Multicast is true when the way leads to a multicast group.
func (a *AH) Multicast() bool { return a != nil && a.path.Dst.IsMulticast() }

// GRHLen is the length in bytes of what stands before the payload in a receive of a
// datagram queue pair.
const GRHLen = 40

// GRH is the network header a datagram came with, as Linux rxe and RNICs lay it into the
// receive: an IPv6 header, or 20 zero bytes and an IPv4 header.
type GRH [GRHLen]byte

const (
	protocolUDP = 17
	ip4At       = GRHLen - bth.IPv4HeaderLen
)

// Set makes the header of a frame. What the link does not see of it is as senders of
// RoCEv2 set it: no options, flow label 0; the IPv4 identification is that of f.
func (g *GRH) Set(f *packet.Received) {
	*g = GRH{}
	be := binary.BigEndian
	length := bth.UDPHeaderLen + len(f.Data)
	if !f.Src.Is4() {
		src, dst := f.Src.As16(), f.Dst.As16()
		be.PutUint32(g[0:], 6<<28|uint32(f.TrafficClass)<<20)
		be.PutUint16(g[4:], uint16(length))
		g[6], g[7] = protocolUDP, f.HopLimit
		copy(g[8:], src[:])
		copy(g[24:], dst[:])
		return
	}
	h := g[ip4At:]
	src, dst := f.Src.As4(), f.Dst.As4()
	h[0], h[1] = 0x45, f.TrafficClass
	be.PutUint16(h[2:], uint16(bth.IPv4HeaderLen+length))
	be.PutUint16(h[4:], f.ID)
	be.PutUint16(h[6:], f.FlagsFragment)
	h[8], h[9] = f.HopLimit, protocolUDP
	copy(h[12:], src[:])
	copy(h[16:], dst[:])
	be.PutUint16(h[10:], ^sum16(h))
}

// sl is the service level of a completion with this header.
func (g *GRH) sl() uint8 {
	if g[0]>>4 == 6 {
		return qp.SLIPv6
	}
	return qp.SLIPv4
}

// sum16 is the ones' complement sum of an IPv4 header (RFC 1071).
func sum16(h []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	sum = sum&0xffff + sum>>16
	return uint16(sum + sum>>16)
}

var errNoGRH = errors.New("the first 40 bytes of the receive are not the network header of a datagram")

// Origin tells where the datagram with this header came from: its source, the address it
// was sent to, and its traffic class. What [GRH.Set] makes of IPv4 begins with zeros, and of IPv6
// with the version. ibv_init_ah_from_wc, where RNICs leave anything before an IPv4 header, looks for
// one first: a sender of IPv6 can choose addresses that look like one.
func (g *GRH) Origin() (src, dst netip.Addr, trafficClass uint8, err error) {
	h := g[ip4At:]
	switch {
	case g[0]>>4 == 6:
		class := uint8(binary.BigEndian.Uint16(g[:]) >> 4)
		return netip.AddrFrom16([16]byte(g[8:])), netip.AddrFrom16([16]byte(g[24:])), class, nil
	case h[0] == 0x45 && sum16(h) == 0xffff:
		return netip.AddrFrom4([4]byte(h[12:])), netip.AddrFrom4([4]byte(h[16:])), h[1], nil
	}
	return netip.Addr{}, netip.Addr{}, 0, errNoGRH
}
