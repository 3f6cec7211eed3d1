package bth

import (
	"encoding/binary"
	"hash/crc32"
)

// slicing[i][v] is the CRC register after byte v and i zero bytes, from an
// empty register: eight table look-ups take eight bytes at once.
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

// updateSmall is crc32.Update with the IEEE table for a few dozen bytes. The
// standard library calls its implementation through a variable, which makes
// every buffer escape; here a buffer on the stack stays there.
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

// updateEight takes eight bytes into the register, the first of them lowest in v.
func updateEight(reg uint32, v uint64) uint32 {
	t := slicing
	lo, hi := reg^uint32(v), uint32(v>>32)
	return t[7][byte(lo)] ^ t[6][byte(lo>>8)] ^ t[5][byte(lo>>16)] ^ t[4][lo>>24] ^
		t[3][byte(hi)] ^ t[2][byte(hi>>8)] ^ t[1][byte(hi>>16)] ^ t[0][hi>>24]
}

// updateFour takes four bytes into the register, the first of them lowest in v.
func updateFour(reg, v uint32) uint32 {
	t := slicing
	v ^= reg
	return t[3][byte(v)] ^ t[2][byte(v>>8)] ^ t[1][byte(v>>16)] ^ t[0][v>>24]
}
