package mr

import "testing"

func TestPermuteTakesEveryIndexOnce(t *testing.T) {
	s := newKeySequence(42)
	seen := make([]bool, 1<<indexBits)
	for i := range uint32(1 << indexBits) {
		p := s.permute(i)
		if p > indexMask {
			t.Fatalf("permute(%#x) = %#x, more than 24 bits", i, p)
		}
		if seen[p] {
			t.Fatalf("permute(%#x) = %#x, which another index has", i, p)
		}
		seen[p] = true
	}
}

func TestAnIndexReturnsAfterAllOthersWithTheNextVariant(t *testing.T) {
	s := newKeySequence(7)
	first := s.key()
	for range indexMask {
		if k := s.key(); k>>variantBits == first>>variantBits {
			t.Fatalf("index of key %#08x came back early, as %#08x", first, k)
		}
	}
	again := s.key()
	if again>>variantBits != first>>variantBits || uint8(again) != uint8(first)+1 {
		t.Errorf("after all indexes the first key %#08x came back as %#08x, want the same index and variant+1", first, again)
	}
}

func TestOrderOfKeysDependsOnTheSeed(t *testing.T) {
	a, b, c := newKeySequence(1), newKeySequence(1), newKeySequence(2)
	same := 0
	for i := range 1000 {
		ka, kb, kc := a.key(), b.key(), c.key()
		if ka != kb {
			t.Fatalf("key %d of equal seeds: %#08x and %#08x", i, ka, kb)
		}
		if ka == kc {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of 1000 keys are equal for seeds 1 and 2", same)
	}
}

func TestConsecutiveIndexesAreNoNeighbours(t *testing.T) {
	s := newKeySequence(3)
	last, near := s.key()>>variantBits, 0
	for range 10_000 {
		k := s.key() >> variantBits
		if d := (k - last) & indexMask; d < 256 || d > indexMask-256 {
			near++
		}
		last = k
	}
	// By chance 512 of 2^24 distances are that small: 0.3 expected here.
	if near > 10 {
		t.Errorf("%d of 10000 consecutive indexes lie within 256 of each other", near)
	}
}

func TestKeyZeroIsSkipped(t *testing.T) {
	tab := NewTable(9, 0)
	// Put the walk right before the one key that is 0.
	s := &tab.keys
	s.first = 0
	for s.next = 0; s.permute(s.next) != 0; s.next++ {
	}
	r, err := tab.Register(&PD{}, Bytes(make([]byte, 8)), 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.RKey() == 0 {
		t.Error("key 0 was handed out")
	}
}

func TestLiveIndexIsPassedOver(t *testing.T) {
	tab := NewTable(9, 0)
	pd, mem := &PD{}, Bytes(make([]byte, 8))
	live, err := tab.Register(pd, mem, 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	tab.keys.next = 1 << indexBits // where the index of live comes again
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
