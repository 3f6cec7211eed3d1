package layers

import (
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/gorxe/gorxe/bth/internal/layercore"
)

// CheckICRC reports whether the ICRC of a decoded packet is correct. ok is false if that cannot
// be determined: the packet has no RoCEv2 layers, was truncated by the capture, or has IPv4
// options or IPv6 extension headers.
func CheckICRC(p gopacket.Packet) (right, ok bool) {
	udp, isUDP := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if _, isRoCE := p.Layer(LayerTypeICRC).(*ICRC); !isUDP || !isRoCE {
		return false, false
	}
	u := layercore.UDP{Src: uint16(udp.SrcPort), Dst: uint16(udp.DstPort), Len: udp.Length, Payload: udp.Payload}
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		return layercore.Check4(u, ip.SrcIP.To4(), ip.DstIP.To4(), ip.Id, uint16(ip.Flags), ip.FragOffset,
			4*int(ip.IHL))
	case *layers.IPv6:
		if ip.NextHeader == layers.IPProtocolUDP {
			return layercore.Check6(u, ip.SrcIP.To16(), ip.DstIP.To16())
		}
	}
	return false, false
}
