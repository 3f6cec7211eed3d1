package bth

import (
	"encoding/binary"
	"hash/crc32"
)

// ICRC returns the invariant CRC of a packet (IBA A17.3.3, 7.8.1). seed is the result of
// [Header4.Seed], [Header6.Seed] or [SeedIP]; b is the packet from the BTH to the last pad
// byte, without the ICRC. FECN, BECN and the six reserved bits beside them in the BTH may
// change in transit, so they are computed as ones.
//
// b should not be on the caller's stack: hash/crc32 makes it escape.
func ICRC(seed uint32, b []byte) uint32 {
	if len(b) < BTHLen {
		return ICRCStart(seed, b)
	}
	return ICRCStartWith(seed, b[:BTHLen], b[BTHLen:])
}

// congestionBits are FECN, BECN and the six reserved bits beside them, in the second word of
// the BTH, least significant byte first.
const congestionBits = 0xff

// ICRCStart begins the ICRC of a packet in several buffers. headers contains at least the BTH.
// The result is a running CRC as in [crc32.Update]; after the last buffer it is the ICRC.
func ICRCStart(seed uint32, headers []byte) uint32 {
	if len(headers) >= BTHLen {
		// The congestion bits lie in the first eight bytes, which updateEight processes in one
		// step.
		v := binary.LittleEndian.Uint64(headers) | congestionBits<<32
		return update(^updateEight(^seed, v), headers[8:])
	}
	var first [BTHLen]byte
	n := copy(first[:], headers)
	first[4] = congestionBits
	return updateSmall(seed, first[:n])
}

// ICRCStartWith is [ICRCStart] with the headers, followed by [ICRCContinue] with b. It is
// faster, because it computes both in one pass where the processor can.
func ICRCStartWith(seed uint32, headers, b []byte) uint32 {
	if len(headers) >= BTHLen {
		if state, ok := updateFoldedHeaders(seed, headers, b); ok {
			return state
		}
	}
	return ICRCContinue(ICRCStart(seed, headers), b)
}

// ICRCContinue adds the next buffer of the packet, payload or pad, to the running CRC.
func ICRCContinue(state uint32, b []byte) uint32 {
	return update(state, b)
}

// minFold is the minimum length in bytes at which updateFolded is the fastest, measured on
// Intel Xeon (Sapphire Rapids) and AMD EPYC (Milan): see docs/decisions/icrc.md.
const minFold = 24

// update is [crc32.Update] with the IEEE table.
func update(state uint32, b []byte) uint32 {
	switch {
	case canFold && len(b) >= minFold:
		return updateFolded(state, b)
	case len(b) < 64:
		return updateSmall(state, b)
	}
	return updateStandard(state, b)
}

// updateStandard is update for at least 64 bytes with the standard library, which processes blocks
// of 16 bytes and the remainder byte by byte. The remainder, here the first bytes, is therefore
// left to updateSmall, which processes four or eight bytes at a time.
func updateStandard(state uint32, b []byte) uint32 {
	lead := len(b) % 16
	return crc32.Update(updateSmall(state, b[:lead]), crc32.IEEETable, b[lead:])
}

// AppendICRC appends the ICRC v to dst, least significant byte first, as every implementation
// sends it.
func AppendICRC(dst []byte, v uint32) []byte {
	return binary.LittleEndian.AppendUint32(dst, v)
}

// ReadICRC returns the ICRC in the last four bytes of b. It returns 0 if b is shorter;
// [Packet.Decode] rejects such a packet.
func ReadICRC(b []byte) uint32 {
	if len(b) < ICRCLen {
		return 0
	}
	return binary.LittleEndian.Uint32(b[len(b)-ICRCLen:])
}

// CheckICRC reports whether the ICRC at the end of b is correct.
func CheckICRC(seed uint32, b []byte) bool {
	return len(b) >= BTHLen+ICRCLen && ICRC(seed, b[:len(b)-ICRCLen]) == ReadICRC(b)
}
