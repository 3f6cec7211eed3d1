// Package layers teaches github.com/google/gopacket to decode RoCEv2. Importing it is enough: what goes to UDP port 4791 is
// then decoded as layers of the types below, one for each header, with the payload between them and the ICRC at the end:
//
//	import _ "github.com/gorxe/gorxe/bth/layers"
//
// A datagram in which a sender with segmentation offload left several packets together is not split here; package trace does
// that.
package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/bth"
)

// Port is the UDP port of RoCEv2.
const Port = 4791

// The types of the layers. Their numbers are among those that gopacket leaves to libraries (1000 to 1999).
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

// register names a type. Headers other than the BTH cannot be decoded without it: its opcode says which they are.
func register(number int, name string, f gopacket.DecodeFunc) gopacket.LayerType {
	m := gopacket.LayerTypeMetadata{Name: name, Decoder: gopacket.DecodeUnknown}
	if f != nil {
		m.Decoder = f
	}
	return gopacket.RegisterLayerType(number, m)
}

func init() { layers.RegisterUDPPortLayerType(Port, LayerTypeBTH) }

// decode adds the layers of a packet.
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
		p.AddLayer(k.layer(&b.Packet, layers.BaseLayer{Contents: rest[:k.header.Len()], Payload: rest[k.header.Len():]}))
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

// BTH is the base transport header. Packet has the extension headers as well, so that a DecodingLayerParser needs no other
// layer of this package.
type BTH struct {
	layers.BaseLayer // Payload is the packet's, without extension headers, pad and ICRC
	Packet           bth.Packet
	ICRC             uint32 // its least significant byte is sent first
}

func (b *BTH) LayerType() gopacket.LayerType  { return LayerTypeBTH }
func (b *BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType is that of the payload, if there is one.
func (b *BTH) NextLayerType() gopacket.LayerType {
	if len(b.Payload) == 0 {
		return gopacket.LayerTypeZero
	}
	return gopacket.LayerTypePayload
}

// DecodeFromBytes decodes a whole packet: data is the payload of UDP.
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

// SerializeTo writes the header alone, not those that Packet has as well.
func (b *BTH) SerializeTo(w gopacket.SerializeBuffer, o gopacket.SerializeOptions) error {
	p := b.Packet
	if o.FixLengths {
		p.Pad = bth.PadFor(len(p.Payload))
	}
	return prepend(w, &p, 0, bth.BTHLen)
}

// prepend writes bytes of the headers of p.
func prepend(w gopacket.SerializeBuffer, p *bth.Packet, from, n int) error {
	b, err := w.PrependBytes(n)
	if err != nil {
		return err
	}
	copy(b, p.AppendHeaders(nil)[from:from+n])
	return nil
}
