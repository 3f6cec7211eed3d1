package bth

import "encoding/binary"

// AppendHeaders appends the BTH and the extension headers of p.Opcode to dst. It writes p.Pad
// and p.Version unchanged and reserved bits as zero, and truncates PSN, QPNs and MSN to their
// 24 bits. For an opcode that RoCEv2 does not carry it appends the BTH alone.
func (p *Packet) AppendHeaders(dst []byte) []byte {
	be := binary.BigEndian
	dst = append(dst,
		byte(p.Opcode),
		bit(p.Solicited, 0x80)|bit(p.MigReq, 0x40)|p.Pad&3<<4|p.Version&0x0f,
		byte(p.PKey>>8), byte(p.PKey),
		bit(p.FECN, 0x80)|bit(p.BECN, 0x40),
		byte(p.DestQP>>16), byte(p.DestQP>>8), byte(p.DestQP),
		bit(p.AckReq, 0x80),
		byte(p.PSN>>16), byte(p.PSN>>8), byte(p.PSN),
	)
	h := p.Opcode.Info().Headers
	if h&HasDETH != 0 {
		dst = be.AppendUint32(dst, p.DETH.QKey)
		dst = be.AppendUint32(dst, uint32(p.DETH.SrcQP)&0xffffff)
	}
	if h&HasFETH != 0 {
		dst = append(dst, 0, 0, 0, p.FETH.Level&3<<4|p.FETH.Type&0x0f)
	}
	if h&HasRETH != 0 {
		dst = be.AppendUint64(dst, p.RETH.VA)
		dst = be.AppendUint32(dst, p.RETH.RKey)
		dst = be.AppendUint32(dst, p.RETH.DMALen)
	}
	if h&HasAtomicETH != 0 {
		dst = be.AppendUint64(dst, p.AtomicETH.VA)
		dst = be.AppendUint32(dst, p.AtomicETH.RKey)
		dst = be.AppendUint64(dst, p.AtomicETH.SwapAdd)
		dst = be.AppendUint64(dst, p.AtomicETH.Compare)
	}
	if h&HasAETH != 0 {
		dst = be.AppendUint32(dst, uint32(p.AETH.Syndrome)<<24|p.AETH.MSN&0xffffff)
	}
	if h&HasAtomicAckETH != 0 {
		dst = be.AppendUint64(dst, p.AtomicAck)
	}
	if h&HasImmDt != 0 {
		dst = be.AppendUint32(dst, p.Imm)
	}
	if h&HasIETH != 0 {
		dst = be.AppendUint32(dst, p.InvalidateRKey)
	}
	if h&HasCNP != 0 {
		dst = append(dst, make([]byte, CNPReservedLen)...)
	}
	return dst
}

// Append appends the whole packet except the ICRC: headers, payload and zeroed pad bytes. It
// sets p.Pad from the length of the payload. It does not validate p, so that tests can build
// packets that a receiver must reject, such as a payload on an opcode that carries none.
func (p *Packet) Append(dst []byte) []byte {
	p.Pad = PadFor(len(p.Payload))
	dst = p.AppendHeaders(dst)
	dst = append(dst, p.Payload...)
	return append(dst, make([]byte, p.Pad)...)
}

func bit(set bool, mask byte) byte {
	if set {
		return mask
	}
	return 0
}
