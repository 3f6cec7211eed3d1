package fault

import "math/bits"

// drawsPerFrame is the number of random values of each frame, used or not.
const drawsPerFrame = 8

// generator is the PCG of math/rand/v2, with the same values for the same seeds. Because it is a
// linear congruential generator, it can compute a value without the values before it: most frames
// need only one of eight.
type generator struct {
	state uint128
	// steps[n] maps the state before a frame to the state after n+1 draws.
	steps [drawsPerFrame]linear
}

type uint128 struct{ hi, lo uint64 }

// linear is the map from x to mul*x + add.
type linear struct{ mul, add uint128 }

// step maps the state of the PCG to its next state (math/rand/v2/pcg.go).
var step = linear{
	mul: uint128{2549297995355413924, 4865540595714422341},
	add: uint128{6364136223846793005, 1442695040888963407},
}

func newGenerator(seed, stream uint64) generator {
	g := generator{state: uint128{seed, stream}}
	g.steps[0] = step
	for n := 1; n < drawsPerFrame; n++ {
		before := g.steps[n-1]
		g.steps[n] = linear{mul: step.mul.times(before.mul), add: step.apply(before.add)}
	}
	return g
}

// draw returns random value n of the current frame, at least 0 and less than 1. n is 0 to
// drawsPerFrame-1.
func (g *generator) draw(n int) float64 {
	const cheapMul = 0xda942042e4dd58b5
	s := g.steps[n].apply(g.state)
	x := s.hi ^ s.hi>>32
	x *= cheapMul
	x ^= x >> 48
	x *= s.lo | 1
	return float64(x<<11>>11) / (1 << 53)
}

// nextFrame advances to the random values of the next frame.
func (g *generator) nextFrame() { g.state = g.steps[drawsPerFrame-1].apply(g.state) }

func (m *linear) apply(x uint128) uint128 {
	p := m.mul.times(x)
	lo, carry := bits.Add64(p.lo, m.add.lo, 0)
	hi, _ := bits.Add64(p.hi, m.add.hi, carry)
	return uint128{hi, lo}
}

func (x uint128) times(y uint128) uint128 {
	hi, lo := bits.Mul64(x.lo, y.lo)
	return uint128{hi + x.hi*y.lo + x.lo*y.hi, lo}
}
