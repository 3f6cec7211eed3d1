// Package layers is a RoCEv2 decoder for github.com/google/gopacket. Once it is imported,
// gopacket decodes the payload of UDP port 4791 as layers of the types below: one for each
// header, then the payload, then the ICRC:
//
//	import _ "github.com/gorxe/gorxe/bth/layers"
//
// Package bth/gopacket/layers is the same for the fork github.com/gopacket/gopacket.
//
// A capture on a sender with segmentation offload can contain several packets in one datagram. This
// package does not split such a datagram; package trace does.
package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/bth/internal/layercore"
)

// Port is the UDP port of RoCEv2.
const Port = layercore.Port

// Layer types. Their numbers are in the range that gopacket reserves for libraries (1000 to
// 1999).
var (
	LayerTypeBTH          = register(layercore.BTH, decode)
	LayerTypeDETH         = register(layercore.DETH, nil)
	LayerTypeFETH         = register(layercore.FETH, nil)
	LayerTypeRETH         = register(layercore.RETH, nil)
	LayerTypeAtomicETH    = register(layercore.AtomicETH, nil)
	LayerTypeAETH         = register(layercore.AETH, nil)
	LayerTypeAtomicAckETH = register(layercore.AtomicAckETH, nil)
	LayerTypeImmDt        = register(layercore.ImmDt, nil)
	LayerTypeIETH         = register(layercore.IETH, nil)
	LayerTypeCNP          = register(layercore.CNP, nil)
	LayerTypeICRC         = register(layercore.ICRC, nil)
)

// register registers a layer type. f is its decoder; only the BTH has one, because the opcode in
// the BTH determines which extension headers follow.
func register(k layercore.Kind, f gopacket.DecodeFunc) gopacket.LayerType {
	m := gopacket.LayerTypeMetadata{Name: k.String(), Decoder: gopacket.DecodeUnknown}
	if f != nil {
		m.Decoder = f
	}
	return gopacket.RegisterLayerType(k.Number(), m)
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
	layercore.Extensions(&b.Packet, data, func(k layercore.Kind, contents, payload []byte) {
		p.AddLayer(extension(k, &b.Packet, layers.BaseLayer{Contents: contents, Payload: payload}))
	})
	if err != nil {
		return err
	}
	if len(b.Packet.Payload) > 0 {
		payload := gopacket.Payload(b.Packet.Payload)
		p.AddLayer(&payload)
		p.SetApplicationLayer(&payload)
	}
	p.AddLayer(&ICRC{BaseLayer: layers.BaseLayer{Contents: layercore.Tail(&b.Packet, data)}, Pad: int(b.Packet.Pad),
		Value: b.ICRC})
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
	icrc, cut, err := layercore.Decode(&b.Packet, data)
	if cut {
		df.SetTruncated()
	}
	b.ICRC = icrc
	b.BaseLayer = layers.BaseLayer{Contents: data[:min(len(data), bth.BTHLen)], Payload: b.Packet.Payload}
	return err
}

// SerializeTo writes the BTH alone, without the extension headers in Packet.
func (b *BTH) SerializeTo(w gopacket.SerializeBuffer, o gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendBTH(nil, b.Packet, o.FixLengths))
}

// prepend writes b before what w contains.
func prepend(w gopacket.SerializeBuffer, b []byte) error {
	to, err := w.PrependBytes(len(b))
	if err == nil {
		copy(to, b)
	}
	return err
}
