package mr

import "github.com/gorxe/gorxe/internal/prp"

// A key is an index of 24 bits and, in the low byte, a variant of 8 bits, the "key portion"
// of IBA 10.6.
const (
	indexBits   = prp.Bits
	variantBits = 8
)

// variantTweak has the index added: each has an order of its own for its variants.
const variantTweak = 1 << 32

// keySequence walks through all 2^32 keys, each once, before any comes again: 256 laps over
// all indexes, and in each lap another variant of an index. A freed index returns after at
// least 15/16 of the others, and under another key.
//
// The orders of indexes and of variants are keyed permutations (AES-256). A peer that knows any
// number of keys can exclude those from the next one and, if it knows a whole lap, learns which
// 16th of the indexes comes next; it learns nothing else.
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
