// Package prp has pseudorandom permutations of small numbers. A device gives out keys and queue
// pair numbers, and the connection manager its IDs, in an order that only a secret tells, so a peer
// that is told some of them learns nothing about the others.
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
	half, mask := p.begin(bits, tweak)
	left, right := x>>half&mask, x&mask
	for round := range byte(rounds) {
		left, right = right, left^p.round(round, right)&mask
	}
	return left<<half | right
}

// Unmap returns the number that becomes x.
func (p *Permutation) Unmap(bits uint8, tweak uint64, x uint32) uint32 {
	half, mask := p.begin(bits, tweak)
	left, right := x>>half&mask, x&mask
	for i := range byte(rounds) {
		left, right = right^p.round(rounds-1-i, left)&mask, left
	}
	return left<<half | right
}

// begin sets the part of the round function's input that all rounds share.
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
