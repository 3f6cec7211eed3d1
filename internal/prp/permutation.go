// Package prp provides pseudorandom permutations of small numbers. A device allocates keys and
// queue pair numbers, and the connection manager its IDs, in an order that a secret determines:
// a peer that knows some of the numbers learns nothing about the others.
//
// The package has no randomness of its own: the secret is a parameter. Only one goroutine at a
// time may use a Permutation and the walks that use it.
package prp

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// Permutation is a family of permutations, one for each width and tweak: a balanced Feistel
// network with AES-256 as the round function and the ten rounds of FF1 (NIST SP 800-38G).
type Permutation struct {
	block   cipher.Block
	in, out [aes.BlockSize]byte // fields rather than locals, because arguments of an interface method escape
}

const rounds = 10

// New returns the permutations of a secret.
func New(secret [32]byte) *Permutation {
	block, _ := aes.NewCipher(secret[:]) // the only error is a wrong key length
	return &Permutation{block: block}
}

// Map returns the image of x under the permutation for bits and tweak. Both are numbers of bits
// bits; bits is even and at most 32.
func (p *Permutation) Map(bits uint8, tweak uint64, x uint32) uint32 {
	half, mask := p.begin(bits, tweak)
	left, right := x>>half&mask, x&mask
	for round := range byte(rounds) {
		left, right = right, left^p.round(round, right)&mask
	}
	return left<<half | right
}

// Unmap is the inverse of Map.
func (p *Permutation) Unmap(bits uint8, tweak uint64, x uint32) uint32 {
	half, mask := p.begin(bits, tweak)
	left, right := x>>half&mask, x&mask
	for i := range byte(rounds) {
		left, right = right^p.round(rounds-1-i, left)&mask, left
	}
	return left<<half | right
}

// begin sets the part of the round function's input that is the same in all rounds. It returns the
// width of half a number and the mask of that width.
func (p *Permutation) begin(bits uint8, tweak uint64) (half uint8, mask uint32) {
	binary.LittleEndian.PutUint64(p.in[:], tweak)
	p.in[8] = bits
	return bits / 2, 1<<(bits/2) - 1
}

// round is the round function.
func (p *Permutation) round(round byte, x uint32) uint32 {
	p.in[9] = round
	binary.LittleEndian.PutUint32(p.in[12:], x)
	p.block.Encrypt(p.out[:], p.in[:])
	return binary.LittleEndian.Uint32(p.out[:])
}
