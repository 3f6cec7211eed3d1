package mr

// A key is an index of 24 bits and, in the low byte, a variant of 8 bits, the "key portion"
// of IBA 10.6.
const (
	indexBits   = 24
	variantBits = 8
	indexMask   = 1<<indexBits - 1
)

// keySequence walks through all 2^32 keys, each once, before any comes again. The walk
// takes every index in an order that depends on the seed, then starts over with the next
// variant; so a freed index returns as late as can be, and under another key.
//
// The order is hard to guess for a peer that has seen some keys. It is not a secret that
// withstands cryptanalysis: access rights and protection domains guard memory, not keys.
type keySequence struct {
	rounds [4]uint64
	next   uint32
	first  uint8
}

func newKeySequence(seed uint64) keySequence {
	var s keySequence
	for i := range s.rounds {
		seed += 0x9e3779b97f4a7c15
		s.rounds[i] = mix(seed)
	}
	s.first = uint8(mix(seed + 0x9e3779b97f4a7c15))
	return s
}

// key returns the next key of the walk.
func (s *keySequence) key() uint32 {
	index := s.permute(s.next & indexMask)
	variant := s.first + uint8(s.next>>indexBits)
	s.next++
	return index<<variantBits | uint32(variant)
}

// permute is a balanced Feistel network over 24 bits: whatever the round function, it
// maps every index to exactly one other.
func (s *keySequence) permute(index uint32) uint32 {
	const half, mask = indexBits / 2, 1<<(indexBits/2) - 1
	left, right := index>>half, index&mask
	for _, k := range s.rounds {
		left, right = right, left^uint32(mix(k^uint64(right)))&mask
	}
	return left<<half | right
}

// mix is the finalizer of SplitMix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
