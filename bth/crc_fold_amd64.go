//go:build !purego

package bth

import (
	"hash/crc32"
	"math"

	"golang.org/x/sys/cpu"
)

var (
	// canFold reports whether the processor has the instructions of foldWords512 or
	// foldWords256 and the operating system saves their registers.
	canFold    = canFold512 || cpu.X86.HasAVX2 && extendedFeatures()&vpclmulqdq != 0
	canFold512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ
)

// extendedFeatures returns ECX of CPUID leaf 7, which every processor with AVX2 has. Package
// cpu reports VPCLMULQDQ only on processors with AVX-512.
func extendedFeatures() uint32

const vpclmulqdq = 1 << 10

// foldConstants are the constants of Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction" (Intel 2009), for the reflected form.
// crc_fold_amd64.s contains the offsets of the fields.
type foldConstants struct {
	// Multipliers that move a 16-byte value 256 or 64 bytes ahead: one for its first 8 bytes, one
	// for its last 8 bytes.
	by256, by64 [2]uint64
	toLast      [4][2]uint64 // likewise 48, 32 and 16: move the first three quarters of a block onto the last

	to64    [2]uint64 // first half: multiplier that reduces 96 bits to 64
	barrett [2]uint64 // generator, and x^64 divided by it
	low     [2]uint64 // masks of the lower 32 bits of each half

	by128 [2]uint64 // as by256, 128 bytes ahead
	shift [32]byte  // VPSHUFB masks: the mask at offset n moves the first n of 16 bytes to the end, after zeros
}

var folds = &foldConstants{
	by256: moveConstants(256), by64: moveConstants(64),
	toLast:  [4][2]uint64{moveConstants(48), moveConstants(32), moveConstants(16)},
	to64:    [2]uint64{uint64(powX(64)) << 1},
	barrett: [2]uint64{crc32.IEEE<<1 | 1, 0x1f7011641},
	low:     [2]uint64{math.MaxUint32, math.MaxUint32},
	by128:   moveConstants(128),
	shift: [32]byte{
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	},
}

// moveConstants returns the multipliers that move a 16-byte value ahead by the number of bytes.
func moveConstants(bytes int) [2]uint64 {
	bits := 8 * bytes
	return [2]uint64{uint64(powX(bits+32)) << 1, uint64(powX(bits-32)) << 1}
}

// foldWords512 continues the CRC register reg with the h bytes at head and the n bytes at p, and
// returns the result. It ORs set into the second 4-byte word of head for the computation, because
// the ICRC takes some header fields as all ones. h and n are multiples of 4. The first block of 64
// bytes contains head and the first lead bytes at p: h + lead is 4 to 64, and n - lead is a
// multiple of 64.
//
//go:noescape
func foldWords512(by *foldConstants, reg, set uint32, head *byte, h int, p *byte, lead, n int) uint32

// foldWords256 continues the CRC register reg with the n bytes at p, and returns the result. n is a
// multiple of 4, at least 16. It is for processors without AVX-512.
//
//go:noescape
func foldWords256(by *foldConstants, reg uint32, p *byte, n int) uint32

// updateFolded is [crc32.Update] with the IEEE table, for at least 16 bytes. It requires
// canFold.
//
// With AVX-512 the standard library uses a single accumulator of 64 bytes and waits for the result
// of each multiplication; foldWords512 keeps four multiplications in flight with four accumulators.
// Without AVX-512 it multiplies 16 bytes at a time, foldWords256 32.
func updateFolded(crc uint32, b []byte) uint32 {
	n := len(b) &^ 3
	reg := ^crc
	if canFold512 {
		reg = foldWords512(folds, reg, 0, &b[0], 0, &b[0], (n-1)&60+4, n)
	} else {
		reg = foldWords256(folds, reg, &b[0], n)
	}
	return updateSmall(^reg, b[n:])
}

// updateFoldedHeaders is ICRCStartWith without tables: it reads the headers, at least a BTH, as
// part of the first block of 64 bytes. It returns false if it cannot: without AVX-512, if the
// headers do not fit in the block, or if headers and b are too short.
func updateFoldedHeaders(crc uint32, headers, b []byte) (uint32, bool) {
	n := len(b) &^ 3
	lead := n & 60
	if !canFold512 || len(headers)&3 != 0 || len(headers)+lead > 64 || len(headers)+len(b) < minFold || len(b) == 0 {
		return 0, false
	}
	reg := foldWords512(folds, ^crc, congestionBits, &headers[0], len(headers), &b[0], lead, n)
	return updateSmall(^reg, b[n:]), true
}
