package bth

import (
	"encoding/binary"
	"hash/crc32"
)

// slicing[i][v] is the CRC register after byte v and i zero bytes, starting from 0. With it,
// eight table look-ups process eight bytes at once (slicing-by-8).
var slicing = makeSlicing()

func makeSlicing() *[8][256]uint32 {
	t := new([8][256]uint32)
	t[0] = *crc32.IEEETable
	for i := 1; i < len(t); i++ {
		for v, c := range t[i-1] {
			t[i][v] = c>>8 ^ t[0][byte(c)]
		}
	}
	return t
}

// updateSmall is [crc32.Update] with the IEEE table, for inputs of a few dozen bytes. The
// standard library calls its implementation through a variable, so every buffer escapes; a
// stack buffer passed to updateSmall does not.
func updateSmall(crc uint32, b []byte) uint32 {
	t := slicing
	crc = ^crc
	for len(b) >= 8 {
		crc = updateEight(crc, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) >= 4 {
		crc = updateFour(crc, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	for _, v := range b {
		crc = crc>>8 ^ t[0][byte(crc)^v]
	}
	return ^crc
}

// updateEight returns the CRC register reg after the eight bytes of v, least significant byte
// first.
func updateEight(reg uint32, v uint64) uint32 {
	t := slicing
	lo, hi := reg^uint32(v), uint32(v>>32)
	return t[7][byte(lo)] ^ t[6][byte(lo>>8)] ^ t[5][byte(lo>>16)] ^ t[4][lo>>24] ^
		t[3][byte(hi)] ^ t[2][byte(hi>>8)] ^ t[1][byte(hi>>16)] ^ t[0][hi>>24]
}

// updateFour returns the CRC register reg after the four bytes of v, least significant byte first.
func updateFour(reg, v uint32) uint32 {
	t := slicing
	v ^= reg
	return t[3][byte(v)] ^ t[2][byte(v>>8)] ^ t[1][byte(v>>16)] ^ t[0][v>>24]
}
