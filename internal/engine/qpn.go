package engine

import "github.com/gorxe/gorxe/bth"

// Queue pair numbers 0 (SMI), 1 (GSI) and 0xffffff (multicast) are taken by the IBA;
// Linux rxe hands out nothing below 16 either.
const (
	firstQPN = bth.QPN(16)
	lastQPN  = bth.MulticastQPN - 1
)

// qpns hands out queue pair numbers in ascending order from a start that only the seed
// knows, so that a number comes back as late as possible: a peer keeps the number of a
// closed connection in its time-wait state for seconds and refuses it until then.
type qpns struct{ next bth.QPN }

func newQPNs(seed uint64) qpns {
	return qpns{next: firstQPN + bth.QPN(seed%uint64(lastQPN-firstQPN+1))}
}

// take returns the next number that used does not know. The caller sees to it that
// there is one.
func (a *qpns) take(used func(bth.QPN) bool) bth.QPN {
	for {
		n := a.next
		if a.next++; a.next > lastQPN {
			a.next = firstQPN
		}
		if !used(n) {
			return n
		}
	}
}
