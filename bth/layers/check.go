package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/bth"
)

// CheckICRC reports whether the ICRC of a decoded packet is correct. ok is false if that cannot
// be determined: the packet has no RoCEv2 layers, was truncated by the capture, or has IPv4
// options or IPv6 extension headers.
func CheckICRC(p gopacket.Packet) (right, ok bool) {
	udp, isUDP := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if _, isRoCE := p.Layer(LayerTypeICRC).(*ICRC); !isUDP || !isRoCE ||
		len(udp.Payload) != int(udp.Length)-bth.UDPHeaderLen {
		return false, false
	}
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		if ip.IHL != bth.IPv4HeaderLen/4 {
			return false, false
		}
		h := bth.Header4{
			Src: [4]byte(ip.SrcIP.To4()), Dst: [4]byte(ip.DstIP.To4()), ID: ip.Id,
			FlagsFragment: uint16(ip.Flags)<<13 | ip.FragOffset,
			SrcPort:       uint16(udp.SrcPort), DstPort: uint16(udp.DstPort), UDPLen: int(udp.Length),
		}
		return bth.CheckICRC(h.Seed(), udp.Payload), true
	case *layers.IPv6:
		if ip.NextHeader != layers.IPProtocolUDP {
			return false, false
		}
		h := bth.Header6{
			Src: [16]byte(ip.SrcIP.To16()), Dst: [16]byte(ip.DstIP.To16()),
			SrcPort: uint16(udp.SrcPort), DstPort: uint16(udp.DstPort), UDPLen: int(udp.Length),
		}
		return bth.CheckICRC(h.Seed(), udp.Payload), true
	}
	return false, false
}
