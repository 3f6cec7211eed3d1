package nic

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/prp"
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

// Queue pair numbers 0 (SMI), 1 (GSI) and 0xffffff (multicast) are taken by the IBA;
// Linux rxe hands out nothing below 16 either.
const (
	firstQPN = bth.QPN(16)
	lastQPN  = bth.MulticastQPN - 1
)

// qpns hands out queue pair numbers in an order that only the secret tells, so that no peer
// computes the number of another's connection from its own. A number comes back after at least
// 15/16 of the others: a peer keeps the number of a closed connection in its time-wait state for
// seconds and refuses it until then.
type qpns struct {
	walk prp.Walk
	next uint64
}

func newQPNs(secret [32]byte) qpns { return qpns{walk: prp.NewWalk(prp.New(secret))} }

// take returns the next number that used does not know. The caller sees to it that
// there is one.
func (a *qpns) take(used func(bth.QPN) bool) bth.QPN {
	for {
		number, _ := a.walk.At(a.next)
		a.next++
		if n := bth.QPN(number); n >= firstQPN && n <= lastQPN && !used(n) {
			return n
		}
	}
}
