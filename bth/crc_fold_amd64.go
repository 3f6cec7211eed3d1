//go:build !purego

package bth

import (
	"hash/crc32"
	"math"

	"golang.org/x/sys/cpu"
)

// canFold tells that the processor has what foldWords uses, and that the operating system saves the registers.
var canFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ

// foldConstants are those of Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel
// 2009), for the reflected form.
type foldConstants struct {
	// What the first and what the last eight bytes of 16 are multiplied by, to move them on by so many bytes.
	by256, by64 [2]uint64
	toLast      [4][2]uint64 // moves three quarters of a block to its last one, by 48, 32 and 16 bytes

	to64    [2]uint64 // takes 96 bits to 64, in the first half
	barrett [2]uint64 // the generator, and x^64 divided by it
	low     [2]uint64 // masks of the lower half of each half
}

var folds = &foldConstants{
	by256: moveBy(256), by64: moveBy(64),
	toLast:  [4][2]uint64{moveBy(48), moveBy(32), moveBy(16)},
	to64:    [2]uint64{uint64(powX(64)) << 1},
	barrett: [2]uint64{crc32.IEEE<<1 | 1, 0x1f7011641},
	low:     [2]uint64{math.MaxUint32, math.MaxUint32},
}

func moveBy(bytes int) [2]uint64 {
	bits := 8 * bytes
	return [2]uint64{uint64(powX(bits+32)) << 1, uint64(powX(bits-32)) << 1}
}

// foldWords returns the register that the n bytes at p lead to from reg. n is a multiple of 4, and not 0.
//
//go:noescape
func foldWords(by *foldConstants, reg uint32, p *byte, n int) uint32

// updateFolded is crc32.Update with the IEEE table, for 4 bytes and more, and only where canFold.
//
// The standard library has one accumulator of 64 bytes and waits for the result of each multiplication; four accumulators keep
// four of them under way.
func updateFolded(crc uint32, b []byte) uint32 {
	n := len(b) &^ 3
	return updateSmall(^foldWords(folds, ^crc, &b[0], n), b[n:])
}
