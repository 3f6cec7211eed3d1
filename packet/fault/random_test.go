package fault

import (
	"math/rand/v2"
	"testing"
)

func TestDrawsAreThoseOfMathRandInAnyOrder(t *testing.T) {
	for seed := range uint64(100) {
		want := rand.New(rand.NewPCG(seed, seed%3))
		g := newGenerator(seed, seed%3)
		for frame := range 100 {
			var values [drawsPerFrame]float64
			for i := range values {
				values[i] = want.Float64()
			}
			for k := range values {
				i := (k*5 + frame) % drawsPerFrame
				if got := g.draw(i); got != values[i] {
					t.Fatalf("seed %d: value %d of frame %d is %v, want %v", seed, i, frame, got, values[i])
				}
			}
			g.nextFrame()
		}
	}
}

func TestAFrameWithoutFaultsDoesNotAllocate(t *testing.T) {
	f := newFaultSource(Config{Drop: 0.01, Duplicate: 0.01}, 1)
	if n := testing.AllocsPerRun(1000, func() { f.next() }); n != 0 {
		t.Errorf("drawing the faults of a frame takes %v allocations, want 0", n)
	}
}

func BenchmarkFaultsOfAFrame(b *testing.B) {
	for name, c := range map[string]Config{
		"drop":         {Drop: 0.01},
		"all faults":   {Drop: 0.01, Duplicate: 0.01, Reorder: 0.01, Corrupt: 0.01, ECNMark: 0.01, Jitter: 1},
		"math/rand/v2": {},
	} {
		b.Run(name, func(b *testing.B) {
			f, r := newFaultSource(c, 1), rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				if name != "math/rand/v2" {
					f.next()
					continue
				}
				for range drawsPerFrame {
					r.Float64()
				}
			}
		})
	}
}
