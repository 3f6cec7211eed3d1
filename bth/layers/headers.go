package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/bth/internal/layercore"
)

// extension returns the layer of an extension header of p.
func extension(k layercore.Kind, p *bth.Packet, b layers.BaseLayer) gopacket.Layer {
	switch k {
	case layercore.DETH:
		return &DETH{b, p.DETH}
	case layercore.FETH:
		return &FETH{b, p.FETH}
	case layercore.RETH:
		return &RETH{b, p.RETH}
	case layercore.AtomicETH:
		return &AtomicETH{b, p.AtomicETH}
	case layercore.AETH:
		return &AETH{b, p.AETH}
	case layercore.AtomicAckETH:
		return &AtomicAckETH{b, p.AtomicAck}
	case layercore.ImmDt:
		return &ImmDt{b, p.Imm}
	case layercore.IETH:
		return &IETH{b, p.InvalidateRKey}
	}
	return &CNP{b}
}

// Layers of the extension headers. The Payload of each is the rest of the packet, including the
// ICRC.
type (
	// DETH is the datagram extended transport header.
	DETH struct {
		layers.BaseLayer
		bth.DETH
	}
	// FETH is the flush extended transport header.
	FETH struct {
		layers.BaseLayer
		bth.FETH
	}
	// RETH is the RDMA extended transport header.
	RETH struct {
		layers.BaseLayer
		bth.RETH
	}
	// AtomicETH is the atomic extended transport header.
	AtomicETH struct {
		layers.BaseLayer
		bth.AtomicETH
	}
	// AETH is the acknowledge extended transport header.
	AETH struct {
		layers.BaseLayer
		bth.AETH
	}
	// AtomicAckETH is the atomic acknowledge extended transport header.
	AtomicAckETH struct {
		layers.BaseLayer
		Original uint64 // value before the operation
	}
	// ImmDt is immediate data.
	ImmDt struct {
		layers.BaseLayer
		Data uint32
	}
	// IETH is the invalidate extended transport header.
	IETH struct {
		layers.BaseLayer
		RKey uint32
	}
	// CNP is the reserved bytes of a congestion notification packet.
	CNP struct{ layers.BaseLayer }
	// ICRC is the invariant CRC at the end of a packet, with the pad before it.
	ICRC struct {
		layers.BaseLayer
		Pad   int    // bytes, 0 to 3
		Value uint32 // sent least significant byte first
	}
)

func (*DETH) LayerType() gopacket.LayerType         { return LayerTypeDETH }
func (*FETH) LayerType() gopacket.LayerType         { return LayerTypeFETH }
func (*RETH) LayerType() gopacket.LayerType         { return LayerTypeRETH }
func (*AtomicETH) LayerType() gopacket.LayerType    { return LayerTypeAtomicETH }
func (*AETH) LayerType() gopacket.LayerType         { return LayerTypeAETH }
func (*AtomicAckETH) LayerType() gopacket.LayerType { return LayerTypeAtomicAckETH }
func (*ImmDt) LayerType() gopacket.LayerType        { return LayerTypeImmDt }
func (*IETH) LayerType() gopacket.LayerType         { return LayerTypeIETH }
func (*CNP) LayerType() gopacket.LayerType          { return LayerTypeCNP }
func (*ICRC) LayerType() gopacket.LayerType         { return LayerTypeICRC }

// SerializeTo writes the header.
func (l *DETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.DETH, bth.Packet{DETH: l.DETH}))
}

// SerializeTo writes the header.
func (l *FETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.FETH, bth.Packet{FETH: l.FETH}))
}

// SerializeTo writes the header.
func (l *RETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.RETH, bth.Packet{RETH: l.RETH}))
}

// SerializeTo writes the header.
func (l *AtomicETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.AtomicETH, bth.Packet{AtomicETH: l.AtomicETH}))
}

// SerializeTo writes the header.
func (l *AETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.AETH, bth.Packet{AETH: l.AETH}))
}

// SerializeTo writes the header.
func (l *AtomicAckETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.AtomicAckETH, bth.Packet{AtomicAck: l.Original}))
}

// SerializeTo writes the header.
func (l *ImmDt) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.ImmDt, bth.Packet{Imm: l.Data}))
}

// SerializeTo writes the header.
func (l *IETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.IETH, bth.Packet{InvalidateRKey: l.RKey}))
}

// SerializeTo writes the reserved bytes, all zero.
func (*CNP) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendExtension(nil, layercore.CNP, bth.Packet{}))
}

// SerializeTo writes zeroed pad and Value, which [bth.ICRC] computes.
func (l *ICRC) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, layercore.AppendTail(nil, l.Pad, l.Value))
}
