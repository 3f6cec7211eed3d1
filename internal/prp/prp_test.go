package prp

import "testing"

func TestMapIsAPermutation(t *testing.T) {
	p := New([32]byte{1})
	for _, bits := range []uint8{2, 8, 12, 16} {
		for tweak := range uint64(3) {
			seen := make([]bool, 1<<bits)
			for x := range uint32(1 << bits) {
				n := p.Map(bits, tweak, x)
				if int(n) >= len(seen) || seen[n] {
					t.Fatalf("%d bits, tweak %d: %#x becomes %#x, which is too wide or what another number becomes",
						bits, tweak, x, n)
				}
				seen[n] = true
			}
		}
	}
}

func TestUnmapIsTheInverse(t *testing.T) {
	p := New([32]byte{1})
	for _, bits := range []uint8{2, 8, 24, 32} {
		for x := range uint32(1000) {
			x = x * 0x9e3779b1 >> (32 - bits)
			if y := p.Unmap(bits, 7, p.Map(bits, 7, x)); y != x {
				t.Fatalf("%d bits: %#x comes back as %#x", bits, x, y)
			}
		}
	}
}

func TestMapDependsOnSecretTweakAndWidth(t *testing.T) {
	one, same, other := New([32]byte{1}), New([32]byte{1}), New([32]byte{31: 1})
	var tweaked, secret, wider int
	for x := range uint32(1000) {
		v := one.Map(20, 5, x)
		if w := same.Map(20, 5, x); w != v {
			t.Fatalf("Map(%d) is %#x and %#x with equal secrets", x, v, w)
		}
		if one.Map(20, 6, x) == v {
			tweaked++
		}
		if other.Map(20, 5, x) == v {
			secret++
		}
		if one.Map(22, 5, x)&(1<<20-1) == v {
			wider++
		}
	}
	if tweaked > 2 || secret > 2 || wider > 2 {
		t.Errorf("of 1000 numbers are equal: %d with another tweak, %d with another secret, %d with another width",
			tweaked, secret, wider)
	}
}

// A walk of 24 bits is too long for a test; a narrow one runs the same code.
func TestAWalkTakesEveryNumberOnceALap(t *testing.T) {
	const bits, part = 14, 10
	w := Walk{New([32]byte{2}), bits, part}
	last := make([]uint64, 1<<bits)
	for step := range uint64(4 << bits) {
		n, lap := w.At(step)
		if lap != step>>bits {
			t.Fatalf("step %d is in lap %d", step, lap)
		}
		if lap > 0 {
			switch d := step - last[n]; {
			case last[n]>>bits != lap-1:
				t.Fatalf("%#x was at step %d and is at %d: twice in a lap, or not in each", n, last[n], step)
			case d < 1<<bits-1<<part+1:
				t.Fatalf("%#x came back after %d steps", n, d)
			}
		}
		last[n] = step
	}
}

func TestTheWholeWalkHas24Bits(t *testing.T) {
	w := NewWalk(New([32]byte{2}))
	if w.bits != 24 || Distance != 15<<20+1 {
		t.Errorf("%d bits, distance %d", w.bits, Distance)
	}
	for step := range uint64(1 << 12) {
		n, lap := w.At(step * (1<<12 + 1))
		if n >= 1<<24 || lap != 0 {
			t.Fatalf("%#x in lap %d", n, lap)
		}
	}
}

// Predictions by a peer that has seen a whole lap, or the preceding numbers.
func TestAWalkIsNoSequence(t *testing.T) {
	w := NewWalk(New([32]byte{3}))
	const steps = 1 << 14
	var near, repeated, stride int
	var before, step uint32
	for i := range uint64(steps) {
		n, _ := w.At(i)
		again, _ := w.At(1<<Bits + i)
		if again == n {
			repeated++
		}
		if d := (n - before) & (1<<Bits - 1); d < 1<<12 || d > 1<<Bits-1<<12 {
			near++
		}
		if n-before == step {
			stride++
		}
		before, step = n, n-before
	}
	// Expected by chance: 0.02, 8 and 0.001. The secret is fixed, so the result is
	// deterministic.
	if repeated > 2 || near > 24 || stride > 1 {
		t.Errorf("of %d numbers %d are at the same place in the next lap, %d lie near the one before, %d go on with the same stride",
			steps, repeated, near, stride)
	}
}

func TestTheWalkOfAnotherSecretIsAnother(t *testing.T) {
	a, b := NewWalk(New([32]byte{4})), NewWalk(New([32]byte{5}))
	same := 0
	for step := range uint64(10_000) {
		n, _ := a.At(step)
		m, _ := b.At(step)
		if n == m {
			same++
		}
	}
	if same > 2 {
		t.Errorf("%d of 10000 numbers are at the same place", same)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	w, step := NewWalk(New([32]byte{6})), uint64(0)
	if n := testing.AllocsPerRun(100, func() { w.At(step); step++ }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

func BenchmarkWalk(b *testing.B) {
	w, step := NewWalk(New([32]byte{7})), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		w.At(step)
		step++
	}
}
