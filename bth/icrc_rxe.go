package bth

// ICRCRxeFlush returns the ICRC that Linux rxe gives to a FLUSH and expects of one, seen
// with 6.12: its table of opcodes has no place for the payload of a FLUSH, so that the CRC
// runs over the packet twice, the second time without a mask. seed and b are those of
// [ICRC]. Other implementations, and rxe's other packets, follow the rule.
func ICRCRxeFlush(seed uint32, b []byte) uint32 { return ICRCContinue(ICRCStart(seed, b), b) }

// CheckICRCRxeFlush reports whether b is a FLUSH that carries the ICRC of [ICRCRxeFlush].
func CheckICRCRxeFlush(seed uint32, b []byte) bool {
	return IsFlush(b) && ICRCRxeFlush(seed, b[:len(b)-ICRCLen]) == ReadICRC(b)
}

// IsFlush reports whether b, a UDP payload of at least a BTH and an ICRC, is a FLUSH.
func IsFlush(b []byte) bool { return len(b) >= BTHLen+ICRCLen && Opcode(b[0]) == RCFlush }
