package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/prp"
)

// idSequence hands out communication IDs. It is a keyed permutation of a counter: an ID comes
// back after all 2^32 others, and nobody without the secret can tell the next one from those
// before it. A peer, or anybody who connects, sees IDs; a message that ends a connection names one.
type idSequence struct {
	order *prp.Permutation
	n     uint32 // number of the latest ID
	asked uint32 // and of the latest transaction of a probe
}

func newIDs(secret [32]byte) idSequence { return idSequence{order: prp.New(secret)} }

// Tweaks of the permutation.
const (
	idTweak          = iota
	transactionTweak // the upper half of a connection's transaction ID
	probeTweak       // one half of the transaction IDs of probes
	probeTweak2      // and the other
)

// next returns the ID after the latest.
func (s *idSequence) next() mad.CommID {
	s.n++
	return s.at(s.n)
}

// at returns the ID with a number.
func (s *idSequence) at(n uint32) mad.CommID { return mad.CommID(s.order.Map(32, idTweak, n)) }

// transaction returns the upper half of the transaction ID of a connection.
func (s *idSequence) transaction(id mad.CommID) uint64 {
	return uint64(s.order.Map(32, transactionTweak, uint32(id)))
}

// probe returns a transaction ID that has nothing in common with any other: 64 bits, never 0.
func (s *idSequence) probe() uint64 {
	s.asked++
	return uint64(s.order.Map(32, probeTweak, s.asked))<<32 | uint64(s.order.Map(32, probeTweak2, s.asked)) | 1
}
