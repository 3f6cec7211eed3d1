package verbs

import (
	"crypto/rand"
	"encoding/binary"
)

// random64 returns 64 bits that nobody can guess.
func random64() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// RandomPSN returns a PSN to start with that nobody can guess: packets left over from an
// earlier connection, or made by a stranger, are not taken for this one's.
func RandomPSN() PSN { return PSN(random64() & maxPSN) }

// pageMask has the bits of an address that tell a byte of its page.
const pageMask = 1<<12 - 1

// randomIOVA returns an address in the lower half of the address space, whose page is random:
// 51 bits. Of a region of n bytes a peer that does not know the address hits some byte with a
// chance of n in 2^63. Up to 2^63 bytes fit behind it.
func randomIOVA(inPage uint64) uint64 { return random64()>>1&^pageMask | inPage&pageMask }
