package bth

import "fmt"

// Explain returns why [Packet.Decode] rejects b, with the field values that caused it, for
// display in a trace. It returns nil if Decode accepts b. The error wraps the [*DecodeError].
// Unlike Decode, Explain allocates.
func Explain(b []byte) error {
	var p Packet
	err := p.Decode(b)
	if err == nil {
		return nil
	}
	info := p.Opcode.Info()
	after := len(b) - info.HeaderLen
	switch ReasonOf(err) {
	case ReasonShortBTH:
		return fmt.Errorf("%w: %d bytes", err, len(b))
	case ReasonVersion:
		return fmt.Errorf("%w: got %d", err, p.Version)
	case ReasonUnknownOpcode:
		return fmt.Errorf("%w: got 0x%02x", err, uint8(p.Opcode))
	case ReasonShortHeader:
		return fmt.Errorf("%w: %s needs %d bytes, the packet has %d", err, p.Opcode, info.HeaderLen, len(b))
	case ReasonShortICRC:
		return fmt.Errorf("%w: %s has %d bytes of headers, the packet has %d", err, p.Opcode, info.HeaderLen, len(b))
	case ReasonUnaligned:
		return fmt.Errorf("%w: %s of %d bytes", err, p.Opcode, len(b))
	case ReasonPad:
		return fmt.Errorf("%w: %s with %d bytes and pad count %d", err, p.Opcode, after-ICRCLen, p.Pad)
	case ReasonSyndrome:
		return fmt.Errorf("%w: %s with syndrome 0x%02x", err, p.Opcode, uint8(p.AETH.Syndrome))
	default:
		return fmt.Errorf("%w: %s with %d bytes after its headers, pad count %d", err, p.Opcode, after-ICRCLen, p.Pad)
	}
}
