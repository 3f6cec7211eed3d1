//go:build !purego

package bth

import (
	"hash/crc32"
	"math"

	"golang.org/x/sys/cpu"
)

var (
	// canFold tells that the processor has what one of the two functions uses, and that the operating system saves the
	// registers.
	canFold    = canFold512 || cpu.X86.HasAVX2 && extendedFeatures()&vpclmulqdq != 0
	canFold512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ
)

// extendedFeatures returns ECX of CPUID leaf 7, which all processors with AVX2 have. Package cpu tells of VPCLMULQDQ
// only where there is AVX-512.
func extendedFeatures() uint32

const vpclmulqdq = 1 << 10

// foldConstants are those of Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction" (Intel 2009), for the reflected form. crc_fold_amd64.s has the offsets of the fields.
type foldConstants struct {
	// What the first and what the last eight bytes of 16 are multiplied by, to move them on by so many bytes.
	by256, by64 [2]uint64
	toLast      [4][2]uint64 // moves three quarters of a block to its last one, by 48, 32 and 16 bytes

	to64    [2]uint64 // takes 96 bits to 64, in the first half
	barrett [2]uint64 // the generator, and x^64 divided by it
	low     [2]uint64 // masks of the lower half of each half

	by128 [2]uint64
	shift [32]byte // VPSHUFB with the 16 bytes from n on keeps the first n bytes, behind zeroes
}

var folds = &foldConstants{
	by256: moveBy(256), by64: moveBy(64),
	toLast:  [4][2]uint64{moveBy(48), moveBy(32), moveBy(16)},
	to64:    [2]uint64{uint64(powX(64)) << 1},
	barrett: [2]uint64{crc32.IEEE<<1 | 1, 0x1f7011641},
	low:     [2]uint64{math.MaxUint32, math.MaxUint32},
	by128:   moveBy(128),
	shift: [32]byte{
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	},
}

func moveBy(bytes int) [2]uint64 {
	bits := 8 * bytes
	return [2]uint64{uint64(powX(bits+32)) << 1, uint64(powX(bits-32)) << 1}
}

// foldWords512 returns the register that the n bytes at p lead to from reg. n is a multiple of 4, and not 0.
//
//go:noescape
func foldWords512(by *foldConstants, reg uint32, p *byte, n int) uint32

// foldWords256 is foldWords512 for processors without AVX-512. n is at least 16.
//
//go:noescape
func foldWords256(by *foldConstants, reg uint32, p *byte, n int) uint32

// updateFolded is crc32.Update with the IEEE table, for 16 bytes and more, and only where canFold.
//
// The standard library has one accumulator of 64 bytes where there is AVX-512, and waits for the result of each
// multiplication; four accumulators keep four of them under way. Without AVX-512 it multiplies 16 bytes at once,
// foldWords256 32.
func updateFolded(crc uint32, b []byte) uint32 {
	n := len(b) &^ 3
	reg := ^crc
	if canFold512 {
		reg = foldWords512(folds, reg, &b[0], n)
	} else {
		reg = foldWords256(folds, reg, &b[0], n)
	}
	return updateSmall(^reg, b[n:])
}
