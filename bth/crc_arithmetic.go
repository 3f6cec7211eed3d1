package bth

import "hash/crc32"

// Polynomial arithmetic modulo the CRC-32 generator. Polynomials are in the reflected form of
// [crc32.IEEE], as in the ICRC: bit 31 is the coefficient of x^0, bit 0 that of x^31.
// updateFolded and SolveID get their constants from here.

// polyOne is the polynomial 1.
const polyOne uint32 = 1 << 31

// mulPoly returns a*b modulo the generator.
func mulPoly(a, b uint32) uint32 {
	var p uint32
	for range 32 {
		p ^= b & -(a >> 31)
		a <<= 1
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return p
}

// divX returns a/x modulo the generator.
func divX(a uint32) uint32 {
	low := a >> 31
	return (a^crc32.IEEE&-low)<<1 | low
}

// powX returns x^n modulo the generator, for n >= 0.
func powX(n int) uint32 {
	p, square := polyOne, polyOne>>1
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = mulPoly(p, square)
		}
		square = mulPoly(square, square)
	}
	return p
}

// inverseStep is the length of inverseLow. With this length, divideByPower needs one multiplication
// for a packet of any path MTU up to 4096, and two for a longer UDP datagram.
const inverseStep = 8192

// Inverse powers: inverseLow[i] is x^(-8*i), inverseHigh[i] is x^(-8*i*inverseStep).
var inverseLow, inverseHigh = makeInverses()

func makeInverses() (*[inverseStep]uint32, *[1<<16/inverseStep + 1]uint32) {
	low, high := new([inverseStep]uint32), new([1<<16/inverseStep + 1]uint32)
	v := polyOne
	for i := range low {
		low[i] = v
		for range 8 {
			v = divX(v)
		}
	}
	step := v
	v = polyOne
	for i := range high {
		high[i] = v
		v = mulPoly(v, step)
	}
	return low, high
}

// divideByPower returns a / x^(8*n) modulo the generator, for n from 0 to 65536.
func divideByPower(a uint32, n int) uint32 {
	a = mulPoly(a, inverseLow[n%inverseStep])
	if n >= inverseStep {
		a = mulPoly(a, inverseHigh[n/inverseStep])
	}
	return a
}
