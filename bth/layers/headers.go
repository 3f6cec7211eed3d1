package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/bth"
)

// kinds are the extension headers in wire order, each with the function that makes its layer from
// the decoded packet.
var kinds = []struct {
	header bth.Headers
	layer  func(*bth.Packet, layers.BaseLayer) gopacket.Layer
}{
	{bth.HasDETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &DETH{b, p.DETH} }},
	{bth.HasFETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &FETH{b, p.FETH} }},
	{bth.HasRETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &RETH{b, p.RETH} }},
	{bth.HasAtomicETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &AtomicETH{b, p.AtomicETH} }},
	{bth.HasAETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &AETH{b, p.AETH} }},
	{bth.HasAtomicAckETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer {
		return &AtomicAckETH{b, p.AtomicAck}
	}},
	{bth.HasImmDt, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &ImmDt{b, p.Imm} }},
	{bth.HasIETH, func(p *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &IETH{b, p.InvalidateRKey} }},
	{bth.HasCNP, func(_ *bth.Packet, b layers.BaseLayer) gopacket.Layer { return &CNP{b} }},
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
	return prepend(w, &bth.Packet{Opcode: bth.UDSendOnly, DETH: l.DETH}, bth.BTHLen, bth.DETHLen)
}

// SerializeTo writes the header.
func (l *FETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCFlush, FETH: l.FETH}, bth.BTHLen, bth.FETHLen)
}

// SerializeTo writes the header.
func (l *RETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCReadRequest, RETH: l.RETH}, bth.BTHLen, bth.RETHLen)
}

// SerializeTo writes the header.
func (l *AtomicETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCCmpSwap, AtomicETH: l.AtomicETH}, bth.BTHLen, bth.AtomicETHLen)
}

// SerializeTo writes the header.
func (l *AETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCAck, AETH: l.AETH}, bth.BTHLen, bth.AETHLen)
}

// SerializeTo writes the header.
func (l *AtomicAckETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCAtomicAck, AtomicAck: l.Original},
		bth.BTHLen+bth.AETHLen, bth.AtomicAckETHLen)
}

// SerializeTo writes the header.
func (l *ImmDt) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCSendOnlyImm, Imm: l.Data}, bth.BTHLen, bth.ImmDtLen)
}

// SerializeTo writes the header.
func (l *IETH) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.RCSendOnlyInv, InvalidateRKey: l.RKey}, bth.BTHLen, bth.IETHLen)
}

// SerializeTo writes the reserved bytes, all zero.
func (l *CNP) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend(w, &bth.Packet{Opcode: bth.CNP}, bth.BTHLen, bth.CNPReservedLen)
}

// SerializeTo writes zeroed pad and Value, which [bth.ICRC] computes.
func (l *ICRC) SerializeTo(w gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	pad := max(0, min(l.Pad, 3))
	b, err := w.PrependBytes(pad + bth.ICRCLen)
	if err != nil {
		return err
	}
	clear(b[:pad])
	copy(b[pad:], bth.AppendICRC(nil, l.Value))
	return nil
}
