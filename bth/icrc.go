package bth

import (
	"encoding/binary"
	"hash/crc32"
)

// ICRC returns the invariant CRC of a packet (IBA A17.3.3, 7.8.1). seed comes from
// [Header4.Seed], [Header6.Seed] or [SeedIP]; b runs from the BTH to the last
// pad byte, without the ICRC. The BTH's FECN, BECN and the six reserved bits
// beside them may change on the way and count as ones.
//
// b should not be on the caller's stack: hash/crc32 makes it escape.
func ICRC(seed uint32, b []byte) uint32 { return ICRCStart(seed, b) }

// ICRCStart begins the ICRC of a packet in pieces. headers starts with the BTH
// and holds at least all of it. The result is the running CRC in the sense of
// [crc32.Update]; after the last piece it is the ICRC.
func ICRCStart(seed uint32, headers []byte) uint32 {
	if len(headers) >= BTHLen {
		// The congestion bits are in the first eight bytes, which are one step of the table's.
		v := binary.LittleEndian.Uint64(headers) | 0xff<<32
		return update(^updateEight(^seed, v), headers[8:])
	}
	var first [BTHLen]byte
	n := copy(first[:], headers)
	first[4] = 0xff
	return updateSmall(seed, first[:n])
}

// ICRCContinue adds the next piece of the packet: payload, or pad.
func ICRCContinue(state uint32, b []byte) uint32 {
	return update(state, b)
}

// foldLeast is the number of bytes from which on updateFolded is the fastest, on an Intel Xeon (Sapphire Rapids) and
// an AMD EPYC (Milan): see docs/decisions/icrc.md.
const foldLeast = 24

// update is crc32.Update with the IEEE table.
func update(state uint32, b []byte) uint32 {
	switch {
	case canFold && len(b) >= foldLeast:
		return updateFolded(state, b)
	case len(b) < 64:
		return updateSmall(state, b)
	}
	return updateStandard(state, b)
}

// updateStandard takes 64 bytes and more. The standard library takes them in blocks of 16, and the rest byte by
// byte: those are taken here, four or eight at a time.
func updateStandard(state uint32, b []byte) uint32 {
	lead := len(b) % 16
	return crc32.Update(updateSmall(state, b[:lead]), crc32.IEEETable, b[lead:])
}

// AppendICRC appends the ICRC to a packet, least significant byte first, as
// every implementation sends it.
func AppendICRC(dst []byte, v uint32) []byte {
	return binary.LittleEndian.AppendUint32(dst, v)
}

// ReadICRC returns the ICRC a packet carries in its last four bytes. A packet
// shorter than that gives 0; [Packet.Decode] refuses it.
func ReadICRC(b []byte) uint32 {
	if len(b) < ICRCLen {
		return 0
	}
	return binary.LittleEndian.Uint32(b[len(b)-ICRCLen:])
}

// CheckICRC reports whether the ICRC at the end of b is the right one.
func CheckICRC(seed uint32, b []byte) bool {
	return len(b) >= BTHLen+ICRCLen && ICRC(seed, b[:len(b)-ICRCLen]) == ReadICRC(b)
}
