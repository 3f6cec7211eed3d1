package wire

import "net/netip"

// Encode returns the IP packet that a raw link at local sends to dst for p, or the payload of the
// RoCEv1 frame, and the bytes from the BTH to the ICRC. id is the IPv4 identification. It is for
// links in memory.
func (p *Packet) Encode(local, dst netip.Addr, id uint16) (ip, payload []byte) {
	src, port := p.source(local)
	if p.V1 {
		ip, payload = p.frameV1(src, dst)
	} else {
		payload = p.payload(src, dst, port, id)
		ip = p.ipPacket(src, dst, port, id, payload)
	}
	if p.Header != nil {
		ip = p.Header(ip)
	}
	if !p.KeepSum && !p.V1 {
		fixIPv4(ip)
	}
	p.IP = ip
	return ip, payload
}

// Source returns the source address and UDP port of p from a link at local.
func (p *Packet) Source(local netip.Addr) (netip.Addr, uint16) { return p.source(local) }

// Receive decodes an IP packet with a UDP datagram as a raw link does. It returns nil if there is
// none. It is for links in memory.
func Receive(ip []byte) *Received {
	n, ok := ipHeader(ip)
	if !ok {
		return nil
	}
	return receivedIP(ip, n)
}
