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

// keySequence generates all 2^32 keys, each once, before it repeats one: in 256 laps over all
// indexes, each with another variant of an index. A freed index is reused after at least 15/16
// of the other indexes, with another key.
//
// The orders of indexes and variants are keyed permutations (AES-256). A peer that knows any
// number of keys can exclude those from the next one. If it knows a whole lap, it learns which
// 16th of the indexes comes next. It learns nothing else.
type keySequence struct {
	order *prp.Permutation
	walk  prp.Walk
	next  uint64
}

func newKeySequence(secret [32]byte) keySequence {
	order := prp.New(secret)
	return keySequence{order: order, walk: prp.NewWalk(order)}
}

// key returns the next key of the walk.
func (s *keySequence) key() uint32 {
	index, lap := s.walk.At(s.next)
	s.next++
	return index<<variantBits | s.order.Map(variantBits, variantTweak|uint64(index), uint32(uint8(lap)))
}
