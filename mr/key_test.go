package mr

import "testing"

const lap = 1 << indexBits

// Together with the tests of a walk in package prp: all 2^32 keys occur, and an index recurs
// late.
func TestAnIndexHasEachVariantInOneOf256Laps(t *testing.T) {
	s := newKeySequence([32]byte{7})
	for step := range uint64(1 << 12) {
		s.next = step * (1<<20 + 7) // through all laps
		at := s.next
		k := s.key()
		index, l := s.walk.At(at)
		if k>>variantBits != index || k&0xff != s.order.Map(variantBits, variantTweak|uint64(index), uint32(l&0xff)) {
			t.Fatalf("key %#08x at step %d, where the walk is at %#06x in lap %d", k, at, index, l)
		}
	}
	for _, index := range []uint32{0, 1, 5, lap - 1} {
		seen := map[uint32]bool{}
		for l := range uint32(256) {
			seen[s.order.Map(variantBits, variantTweak|uint64(index), l)] = true
		}
		if len(seen) != 256 {
			t.Errorf("index %#x has %d variants in 256 laps", index, len(seen))
		}
	}
}

func TestVariantsAreNoSequence(t *testing.T) {
	s := newKeySequence([32]byte{8})
	var same, next int
	var before uint8
	for range 10_000 {
		v := uint8(s.key())
		switch v - before {
		case 0:
			same++
		case 1:
			next++
		}
		before = v
	}
	// 39 each are expected by chance.
	if same > 80 || next > 80 {
		t.Errorf("of 10000 keys %d have the variant of the one before, %d the next", same, next)
	}
	// The variants of one index, from lap to lap.
	next = 0
	for l := range uint32(255) {
		a, b := s.order.Map(variantBits, variantTweak|5, l), s.order.Map(variantBits, variantTweak|5, l+1)
		if uint8(b)-uint8(a) == 1 {
			next++
		}
	}
	if next > 8 {
		t.Errorf("%d of 255 variants of an index are the one before plus 1", next)
	}
}

func TestOrderOfKeysDependsOnTheSecret(t *testing.T) {
	a, b, c := newKeySequence([32]byte{1}), newKeySequence([32]byte{1}), newKeySequence([32]byte{31: 1})
	same := 0
	for i := range 1000 {
		ka, kb, kc := a.key(), b.key(), c.key()
		if ka != kb {
			t.Fatalf("key %d of equal secrets: %#08x and %#08x", i, ka, kb)
		}
		if ka == kc {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of 1000 keys are equal for two secrets", same)
	}
}

func TestConsecutiveIndexesAreNoNeighbours(t *testing.T) {
	s := newKeySequence([32]byte{3})
	const mask = lap - 1
	last, near := s.key()>>variantBits, 0
	for range 10_000 {
		k := s.key() >> variantBits
		if d := (k - last) & mask; d < 256 || d > mask-256 {
			near++
		}
		last = k
	}
	// 512 of 2^24 distances are that small by chance: 0.3 are expected here.
	if near > 10 {
		t.Errorf("%d of 10000 consecutive indexes lie within 256 of each other", near)
	}
}

func TestIndexZeroIsSkipped(t *testing.T) {
	tab := NewTable([32]byte{9}, 0)
	const step = 14173055 // step of this secret's walk that yields index 0
	tab.keys.next = step
	if k := tab.keys.key(); k>>variantBits != 0 {
		t.Fatalf("step %d leads to key %#08x", step, k)
	}
	tab.keys.next = step
	r, err := tab.Register(&PD{}, Bytes(make([]byte, 8)), 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.RKey()>>variantBits == 0 {
		t.Errorf("key %#08x was handed out", r.RKey())
	}
}

func TestLiveIndexIsPassedOver(t *testing.T) {
	tab := NewTable([32]byte{9}, 0)
	pd, mem := &PD{}, Bytes(make([]byte, 8))
	live, err := tab.Register(pd, mem, 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	tab.keys.next = 0 // where the index of live recurs
	r, err := tab.Register(pd, mem, 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.RKey()>>variantBits == live.RKey()>>variantBits {
		t.Errorf("keys %#08x and %#08x share an index", live.RKey(), r.RKey())
	}
	if tab.Lookup(live.RKey()) != live {
		t.Error("the live region lost its key")
	}
}
