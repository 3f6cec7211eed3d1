//go:build !purego

package bth

import "golang.org/x/sys/cpu"

// canFold tells that the processor has what foldBlocks uses, and that the operating system saves the registers.
var canFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ

// foldConstants take 16 bytes of a message over a distance of 256, 64 and 16 bytes: for each, what the first and what the
// last eight bytes are multiplied by (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009, for the reflected form).
type foldConstants [3][2]uint64

var folds = &foldConstants{foldBy(256), foldBy(64), foldBy(16)}

func foldBy(bytes int) [2]uint64 {
	bits := 8 * bytes
	return [2]uint64{uint64(powX(bits+32)) << 1, uint64(powX(bits-32)) << 1}
}

// foldBlocks returns 16 bytes, the first of them lowest in lo, that take an empty register to where the n bytes at p take reg.
// n is a multiple of 64 and at least 256.
//
//go:noescape
func foldBlocks(by *foldConstants, reg uint32, p *byte, n int) (lo, hi uint64)

// updateFolded is crc32.Update with the IEEE table, for 256 bytes and more, and only where canFold.
//
// The standard library has one accumulator of 64 bytes and waits for the result of each multiplication; four accumulators keep
// four of them under way.
func updateFolded(crc uint32, b []byte) uint32 {
	n := len(b) &^ 63
	lo, hi := foldBlocks(folds, ^crc, &b[0], n)
	return updateSmall(^updateEight(updateEight(0, lo), hi), b[n:])
}
