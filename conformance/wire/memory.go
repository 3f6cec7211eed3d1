package wire

import (
	"net/netip"
	"time"
)

// UDPPayload returns the UDP payload, from the BTH to the ICRC, that a link at src sends to dst for p.
// port is the UDP source port and id the IPv4 identification of the datagram. It is for links in
// memory.
func (p *Packet) UDPPayload(src, dst netip.Addr, port, id uint16) []byte {
	return p.payload(src, dst, port, id)
}

// NewReceived returns the packet that a link receives: payload is the UDP payload and ip the whole
// IP packet. It is for links in memory.
func NewReceived(at time.Time, src, dst netip.AddrPort, payload, ip []byte) *Received {
	r := &Received{At: at, Src: src, Dst: dst, Bytes: payload, IP: ip}
	if len(ip) >= 20 && ip[0]>>4 == 4 {
		r.TOS, r.TTL = ip[1], ip[8]
	}
	r.decode()
	return r
}
