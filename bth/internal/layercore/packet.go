package layercore

import "github.com/gorxe/gorxe/bth"

// Decode decodes a packet, which data contains from BTH to ICRC. It returns the ICRC, 0 if there
// is none, and whether data ends too early (cut).
func Decode(p *bth.Packet, data []byte) (icrc uint32, cut bool, err error) {
	err = p.Decode(data)
	switch bth.ReasonOf(err) {
	case bth.ReasonNone:
		icrc = bth.ReadICRC(data)
	case bth.ReasonShortBTH, bth.ReasonShortHeader, bth.ReasonShortICRC:
		cut = true
	}
	return icrc, cut, err
}

// Extensions calls add for each extension header of p, in wire order, with its bytes and all that
// follows it in data. It calls add for none if data does not contain all headers or if p is of an
// unknown type.
func Extensions(p *bth.Packet, data []byte, add func(k Kind, contents, payload []byte)) {
	info := p.Opcode.Info()
	if !info.Valid || p.Version != 0 || len(data) < info.HeaderLen {
		return
	}
	rest := data[bth.BTHLen:]
	for _, x := range extensions {
		if info.Headers&x.header != 0 {
			n := x.header.Len()
			add(x.kind, rest[:n], rest[n:])
			rest = rest[n:]
		}
	}
}

// Tail returns the pad and the ICRC at the end of data, which p was decoded from without error.
func Tail(p *bth.Packet, data []byte) []byte { return data[len(data)-bth.ICRCLen-int(p.Pad):] }

// AppendBTH appends the BTH of p. fixPad sets the pad count that the length of p.Payload requires.
func AppendBTH(b []byte, p bth.Packet, fixPad bool) []byte {
	if fixPad {
		p.Pad = bth.PadFor(len(p.Payload))
	}
	return append(b, p.AppendHeaders(nil)[:bth.BTHLen]...)
}

// AppendExtension appends the extension header k, whose values are in p; the BTH fields of p have
// no effect.
func AppendExtension(b []byte, k Kind, p bth.Packet) []byte {
	for _, x := range extensions {
		if x.kind == k {
			p.Opcode = x.opcode
			from := bth.BTHLen + x.before
			return append(b, p.AppendHeaders(nil)[from:from+x.header.Len()]...)
		}
	}
	return b
}

// AppendTail appends a zeroed pad of 0 to 3 bytes and an ICRC.
func AppendTail(b []byte, pad int, icrc uint32) []byte {
	b = append(b, make([]byte, max(0, min(pad, 3)))...)
	return bth.AppendICRC(b, icrc)
}
