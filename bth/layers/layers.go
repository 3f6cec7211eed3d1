// Package layers is a RoCEv2 decoder for github.com/google/gopacket. Once it is imported,
// gopacket decodes the payload of UDP port 4791 as layers of the types below: one for each
// header, then the payload, then the ICRC:
//
//	import _ "github.com/gorxe/gorxe/bth/layers"
//
// A capture on a sender with segmentation offload can contain several packets in one datagram. This
// package does not split such a datagram; package trace does.
package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/bth"
)

// Port is the UDP port of RoCEv2.
const Port = 4791

// Layer types. Their numbers are in the range that gopacket reserves for libraries (1000 to
// 1999).
var (
	LayerTypeBTH          = register(1791, "BTH", decode)
	LayerTypeDETH         = register(1792, "DETH", nil)
	LayerTypeFETH         = register(1793, "FETH", nil)
	LayerTypeRETH         = register(1794, "RETH", nil)
	LayerTypeAtomicETH    = register(1795, "AtomicETH", nil)
	LayerTypeAETH         = register(1796, "AETH", nil)
	LayerTypeAtomicAckETH = register(1797, "AtomicAckETH", nil)
	LayerTypeImmDt        = register(1798, "ImmDt", nil)
	LayerTypeIETH         = register(1799, "IETH", nil)
	LayerTypeCNP          = register(1800, "CNP", nil)
	LayerTypeICRC         = register(1801, "ICRC", nil)
)

// register registers a layer type. f is its decoder; only the BTH has one, because the opcode in
// the BTH determines which extension headers follow.
func register(number int, name string, f gopacket.DecodeFunc) gopacket.LayerType {
	m := gopacket.LayerTypeMetadata{Name: name, Decoder: gopacket.DecodeUnknown}
	if f != nil {
		m.Decoder = f
	}
	return gopacket.RegisterLayerType(number, m)
}

func init() { layers.RegisterUDPPortLayerType(Port, LayerTypeBTH) }

// decode adds the layers of a packet to p.
func decode(data []byte, p gopacket.PacketBuilder) error {
	b := &BTH{}
	err := b.DecodeFromBytes(data, p)
	if len(data) < bth.BTHLen {
		return err
	}
	p.AddLayer(b)
	info := b.Packet.Opcode.Info()
	if !info.Valid || b.Packet.Version != 0 || len(data) < info.HeaderLen {
		return err
	}
	rest := data[bth.BTHLen:]
	for _, k := range kinds {
		if info.Headers&k.header == 0 {
			continue
		}
		p.AddLayer(k.layer(&b.Packet, layers.BaseLayer{Contents: rest[:k.header.Len()],
			Payload: rest[k.header.Len():]}))
		rest = rest[k.header.Len():]
	}
	if err != nil {
		return err
	}
	if len(b.Packet.Payload) > 0 {
		payload := gopacket.Payload(b.Packet.Payload)
		p.AddLayer(&payload)
		p.SetApplicationLayer(&payload)
	}
	pad := int(b.Packet.Pad)
	p.AddLayer(&ICRC{BaseLayer: layers.BaseLayer{Contents: data[len(data)-bth.ICRCLen-pad:]}, Pad: pad, Value: b.ICRC})
	return nil
}

// BTH is the base transport header. Packet contains the extension headers too, so that a
// DecodingLayerParser needs no other layer of this package.
type BTH struct {
	layers.BaseLayer // its Payload is the payload of the packet, without extension headers, pad and ICRC
	Packet           bth.Packet
	ICRC             uint32 // sent least significant byte first
}

func (b *BTH) LayerType() gopacket.LayerType  { return LayerTypeBTH }
func (b *BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType returns the type of the payload, or LayerTypeZero if there is none.
func (b *BTH) NextLayerType() gopacket.LayerType {
	if len(b.Payload) == 0 {
		return gopacket.LayerTypeZero
	}
	return gopacket.LayerTypePayload
}

// DecodeFromBytes decodes a whole packet: data is the UDP payload.
func (b *BTH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	err := b.Packet.Decode(data)
	b.BaseLayer = layers.BaseLayer{Contents: data[:min(len(data), bth.BTHLen)], Payload: b.Packet.Payload}
	b.ICRC = 0
	switch bth.ReasonOf(err) {
	case bth.ReasonNone:
		b.ICRC = bth.ReadICRC(data)
	case bth.ReasonShortBTH, bth.ReasonShortHeader, bth.ReasonShortICRC:
		df.SetTruncated()
	}
	return err
}

// SerializeTo writes the BTH alone, without the extension headers in Packet.
func (b *BTH) SerializeTo(w gopacket.SerializeBuffer, o gopacket.SerializeOptions) error {
	p := b.Packet
	if o.FixLengths {
		p.Pad = bth.PadFor(len(p.Payload))
	}
	return prepend(w, &p, 0, bth.BTHLen)
}

// prepend writes n bytes of the headers of p, starting at offset from.
func prepend(w gopacket.SerializeBuffer, p *bth.Packet, from, n int) error {
	b, err := w.PrependBytes(n)
	if err != nil {
		return err
	}
	copy(b, p.AppendHeaders(nil)[from:from+n])
	return nil
}
