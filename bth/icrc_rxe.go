package bth

// ICRCRxeFlush returns the ICRC that Linux rxe (observed with 6.12) sends and expects in a FLUSH.
// The opcode table of rxe has no payload offset for FLUSH, so rxe computes the CRC over the packet
// twice, the second time with the actual values of the masked fields. seed and b are those of
// [ICRC]. Other implementations, and the other opcodes of rxe, comply with the specification.
func ICRCRxeFlush(seed uint32, b []byte) uint32 { return ICRCContinue(ICRCStart(seed, b), b) }

// CheckICRCRxeFlush reports whether b is a FLUSH with the ICRC of [ICRCRxeFlush].
func CheckICRCRxeFlush(seed uint32, b []byte) bool {
	return IsFlush(b) && ICRCRxeFlush(seed, b[:len(b)-ICRCLen]) == ReadICRC(b)
}

// IsFlush reports whether b, a UDP payload, contains at least a BTH and an ICRC and is a FLUSH.
func IsFlush(b []byte) bool { return len(b) >= BTHLen+ICRCLen && Opcode(b[0]) == RCFlush }
