package mr

import "github.com/gorxe/gorxe/internal/prp"

// A key consists of an index of 24 bits and, in the low byte, a variant of 8 bits, the "key
// portion" of IBA 10.6.
const (
	indexBits   = prp.Bits
	variantBits = 8
)

// variantTweak plus the index is the tweak of the permutation that orders the variants of that
// index.
const variantTweak = 1 << 32

// keySequence generates all 2^32 keys, each once, before it repeats one. It passes over all 2^24
// indexes 256 times; each pass gives an index a variant that it has not had before. Between two
// uses of an index, at least 15/16 of the other indexes are used.
//
// Keyed permutations (AES-256) determine the orders of indexes and variants. A peer that knows keys
// of the current pass knows that the next key has none of their indexes; if it knows all keys of a
// pass, it knows which 16th of the indexes contains the next one. It does not know the variant that
// an index gets, except that it is none of those it had.
type keySequence struct {
	order *prp.Permutation // order of the variants of an index
	walk  prp.Walk         // passes over the indexes
	next  uint64           // position of the next key in the walk
}

func newKeySequence(secret [32]byte) keySequence {
	order := prp.New(secret)
	return keySequence{order: order, walk: prp.NewWalk(order)}
}

// key returns the next key of the sequence.
func (s *keySequence) key() uint32 {
	index, lap := s.walk.At(s.next)
	s.next++
	return index<<variantBits | s.order.Map(variantBits, variantTweak|uint64(index), uint32(uint8(lap)))
}
