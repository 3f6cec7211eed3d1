package nic

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// secrets draws what peers must not guess, a secret for each use, none of which tells another:
// from crypto/rand, or from a seed that is not 0.
type secrets struct{ seed uint64 }

func (s secrets) of(use string) (secret [32]byte) {
	if s.seed == 0 {
		rand.Read(secret[:])
		return secret
	}
	return sha256.Sum256(fmt.Appendf(nil, "gorxe %d %s", s.seed, use))
}

// guid draws an EUI-64 of the locally administered, individual kind. (In an EUI-64
// that stands in a GUID the bit that marks it is the one next to the lowest of the first
// octet, the lowest is that of a group.)
func (s secrets) guid() uint64 {
	const local, group = 0x02 << 56, 0x01 << 56
	secret := s.of("GUID")
	return (binary.BigEndian.Uint64(secret[:]) | local) &^ group
}
