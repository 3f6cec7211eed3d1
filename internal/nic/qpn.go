package nic

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/prp"
)

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
