// Package prp has pseudorandom permutations of small numbers. A device gives out keys and queue
// pair numbers in an order that only its secret tells, so a peer that is told some of them learns
// nothing about the others.
//
// The package is pure: the secret is a parameter. A Permutation is used by one goroutine at a
// time, and so are the walks that belong to it.
package prp

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// Permutation is a family of permutations, one for each width and tweak: a balanced Feistel
// network whose round function is AES-256, with the ten rounds of FF1 (NIST SP 800-38G).
type Permutation struct {
	block   cipher.Block
	in, out [aes.BlockSize]byte // fields, because arguments of an interface's method escape
}

const rounds = 10

// New returns the permutations that belong to a secret.
func New(secret [32]byte) *Permutation {
	block, _ := aes.NewCipher(secret[:]) // refuses other lengths of the key only
	return &Permutation{block: block}
}

// Map returns what x becomes, both numbers of the given width, which is even and at most 32 bits.
func (p *Permutation) Map(bits uint8, tweak uint64, x uint32) uint32 {
	half := bits / 2
	mask := uint32(1)<<half - 1
	left, right := x>>half&mask, x&mask
	binary.LittleEndian.PutUint64(p.in[:], tweak)
	p.in[8] = bits
	for round := range byte(rounds) {
		p.in[9] = round
		binary.LittleEndian.PutUint32(p.in[12:], right)
		p.block.Encrypt(p.out[:], p.in[:])
		left, right = right, left^binary.LittleEndian.Uint32(p.out[:])&mask
	}
	return left<<half | right
}
