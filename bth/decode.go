package bth

import "encoding/binary"

// Decode parses b, a UDP payload from the BTH to the ICRC, into p. It does not check the ICRC;
// see [CheckICRC]. p.Payload aliases b.
//
// The error is a [*DecodeError]; Decode never allocates. After an error Payload is nil. The BTH
// fields are still valid unless the reason is [ReasonShortBTH]; the extension headers are valid
// unless the reason is ReasonShortBTH, [ReasonVersion], [ReasonUnknownOpcode] or
// [ReasonShortHeader].
//
// Reserved bits are ignored (IBA 9.2). Decode checks only what the packet alone shows: package
// transport checks the rest, such as the length of a FIRST packet against the path MTU, and
// [SeedIP] checks the IP and UDP headers.
func (p *Packet) Decode(b []byte) error {
	info, err := p.decodeHeaders(b)
	if err != nil {
		return err
	}
	return p.decodePayload(b[info.HeaderLen:], info)
}

// DecodeParts is [Packet.Decode] for an outgoing packet to which pad and ICRC have not been added
// yet. headers starts with the BTH; if payload is empty, headers contains the payload too.
func (p *Packet) DecodeParts(headers, payload []byte) error {
	info, err := p.decodeHeaders(headers)
	if err != nil {
		return err
	}
	if len(payload) == 0 {
		payload = headers[info.HeaderLen:]
	}
	switch n := len(payload); {
	case n+int(PadFor(n)) > MaxPayload:
		return refuse(ReasonOversize)
	case n > 0 && !info.Payload:
		return refuse(ReasonUnexpectedPayload)
	case p.Pad != PadFor(n):
		return refuse(ReasonPad)
	}
	return p.setPayload(payload, info)
}

// decodeHeaders parses the BTH and the extension headers at the start of b. If it returns no
// error, b contains all of them.
func (p *Packet) decodeHeaders(b []byte) (*OpcodeInfo, error) {
	p.Payload = nil
	if len(b) < BTHLen {
		return nil, refuse(ReasonShortBTH)
	}
	p.decodeBTH((*[BTHLen]byte)(b))
	info := p.Opcode.Info()
	switch {
	case p.Version != 0:
		return nil, refuse(ReasonVersion)
	case !info.Valid:
		return nil, refuse(ReasonUnknownOpcode)
	case len(b) < info.HeaderLen:
		return nil, refuse(ReasonShortHeader)
	}
	p.decodeExtensions(b[BTHLen:info.HeaderLen], info.Headers)
	return info, nil
}

func (p *Packet) decodeBTH(b *[BTHLen]byte) {
	p.Opcode = Opcode(b[0])
	p.Solicited = b[1]&0x80 != 0
	p.MigReq = b[1]&0x40 != 0
	p.Pad = b[1] >> 4 & 3
	p.Version = b[1] & 0x0f
	p.PKey = binary.BigEndian.Uint16(b[2:4])
	p.FECN = b[4]&0x80 != 0
	p.BECN = b[4]&0x40 != 0
	p.DestQP = QPN(binary.BigEndian.Uint32(b[4:8]) & 0xffffff)
	p.AckReq = b[8]&0x80 != 0
	p.PSN = PSN(binary.BigEndian.Uint32(b[8:12])) & MaxPSN
}

// decodeExtensions parses the extension headers of h. b holds exactly these headers.
func (p *Packet) decodeExtensions(b []byte, h Headers) {
	be := binary.BigEndian
	if h&HasDETH != 0 {
		p.DETH = DETH{QKey: be.Uint32(b), SrcQP: QPN(be.Uint32(b[4:]) & 0xffffff)}
		b = b[DETHLen:]
	}
	if h&HasFETH != 0 {
		p.FETH = FETH{Type: b[3] & 0x0f, Level: b[3] >> 4 & 3}
		b = b[FETHLen:]
	}
	if h&HasRETH != 0 {
		p.RETH = RETH{VA: be.Uint64(b), RKey: be.Uint32(b[8:]), DMALen: be.Uint32(b[12:])}
		b = b[RETHLen:]
	}
	if h&HasAtomicETH != 0 {
		p.AtomicETH = AtomicETH{
			VA: be.Uint64(b), RKey: be.Uint32(b[8:]),
			SwapAdd: be.Uint64(b[12:]), Compare: be.Uint64(b[20:]),
		}
		b = b[AtomicETHLen:]
	}
	if h&HasAETH != 0 {
		v := be.Uint32(b)
		p.AETH = AETH{Syndrome: Syndrome(v >> 24), MSN: v & 0xffffff}
		b = b[AETHLen:]
	}
	if h&HasAtomicAckETH != 0 {
		p.AtomicAck = be.Uint64(b)
		b = b[AtomicAckETHLen:]
	}
	if h&HasImmDt != 0 {
		p.Imm = be.Uint32(b)
		b = b[ImmDtLen:]
	}
	if h&HasIETH != 0 {
		p.InvalidateRKey = be.Uint32(b)
	}
}

// decodePayload parses b, which is payload, pad and ICRC.
func (p *Packet) decodePayload(b []byte, info *OpcodeInfo) error {
	n := len(b) - ICRCLen
	switch {
	case n < 0:
		return refuse(ReasonShortICRC)
	case n&3 != 0:
		return refuse(ReasonUnaligned)
	case n > MaxPayload:
		return refuse(ReasonOversize)
	case n > 0 && !info.Payload:
		return refuse(ReasonUnexpectedPayload)
	case int(p.Pad) > n:
		return refuse(ReasonPad)
	}
	return p.setPayload(b[:n-int(p.Pad)], info)
}

// setPayload sets p.Payload to b, the payload without pad. It checks the type of the syndrome. The
// payload of an ATOMIC WRITE may have any length: the responder answers one that is not 8 bytes
// with a NAK (oA19-28).
func (p *Packet) setPayload(b []byte, info *OpcodeInfo) error {
	if info.Headers&HasAETH != 0 && !p.AETH.Syndrome.typeDefined() {
		return refuse(ReasonSyndrome)
	}
	p.Payload = b[:len(b):len(b)]
	return nil
}
