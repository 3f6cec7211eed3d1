package cm

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// idSequence hands out communication IDs. It is a keyed permutation of a counter: an ID comes
// back after all 2^32 others, and nobody without the secret can tell the next one from those
// before it. A peer, or anybody who connects, sees IDs; a message that ends a connection names one.
type idSequence struct {
	block   cipher.Block
	n       uint32 // number of the latest ID
	in, out [aes.BlockSize]byte
}

func newIDs(secret [16]byte) idSequence {
	// The error is of keys of other lengths.
	block, _ := aes.NewCipher(secret[:])
	return idSequence{block: block}
}

// next returns the ID after the latest.
func (s *idSequence) next() CommID {
	s.n++
	return s.at(s.n)
}

// idRounds is the number of rounds of NIST SP 800-38G (FF1).
const idRounds = 10

// at encrypts n by a Feistel network with AES as the round function.
func (s *idSequence) at(n uint32) CommID {
	left, right := uint16(n>>16), uint16(n)
	for round := range uint32(idRounds) {
		left, right = right, left^uint16(s.random(round, uint32(right)))
	}
	return CommID(left)<<16 | CommID(right)
}

// random is a pseudorandom function of two numbers.
func (s *idSequence) random(a, b uint32) uint32 {
	binary.BigEndian.PutUint32(s.in[0:], a)
	binary.BigEndian.PutUint32(s.in[4:], b)
	s.block.Encrypt(s.out[:], s.in[:])
	return binary.BigEndian.Uint32(s.out[:])
}
