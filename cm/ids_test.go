package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"math/bits"
	"testing"
)

// The IDs of one's own connections reveal nothing about those of others: neither differences nor
// common bits repeat, and each bit of the secret changes all IDs.
func TestCommunicationIDsDoNotShowTheirOrder(t *testing.T) {
	const n = 1 << 14
	ids, other := newIDs([32]byte{1}), newIDs([32]byte{3})
	seen, sums, masks := map[mad.CommID]bool{}, map[mad.CommID]int{}, map[mad.CommID]int{}
	flipped := 0
	for i := range uint32(n) {
		a, b := ids.at(i), ids.at(i+1)
		if seen[a] {
			t.Fatalf("ID %#x comes twice", uint32(a))
		}
		if a == other.at(i) && ids.at(i+2) == other.at(i+2) {
			t.Errorf("two secrets have ID %#x in common", uint32(a))
		}
		seen[a] = true
		sums[b-a]++
		masks[b^a]++
		flipped += bits.OnesCount32(uint32(a ^ b))
	}
	for name, of := range map[string]map[mad.CommID]int{"differ by": sums, "differ in the bits": masks} {
		for d, count := range of {
			if count > 2 {
				t.Errorf("%d neighbours %s %#x", count, name, uint32(d))
			}
		}
	}
	if mean := float64(flipped) / n; mean < 15.8 || mean > 16.2 {
		t.Errorf("neighbours differ in %.2f bits, not in 16", mean)
	}
}
