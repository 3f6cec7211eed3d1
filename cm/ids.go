package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/prp"
)

// idSequence generates communication IDs as a keyed permutation of a counter: an ID recurs only
// after all other 2^32, and without the secret the next one cannot be predicted from earlier ones.
// That matters because every peer sees IDs, and a message can end a connection only if it contains
// the right ID.
type idSequence struct {
	order  *prp.Permutation
	n      uint32 // counter of IDs
	probes uint32 // counter of transactions of probes: DREQs that test whether the peer still has a connection
}

func newIDs(secret [32]byte) idSequence { return idSequence{order: prp.New(secret)} }

// Tweaks of the permutation; each tweak selects an independent permutation.
const (
	idTweak          = iota // communication IDs
	transactionTweak        // upper half of a connection's transaction ID
	probeTweak              // one half of the transaction IDs of probes
	probeTweak2             // the other half
)

// next returns the next ID.
func (s *idSequence) next() mad.CommID {
	s.n++
	return s.at(s.n)
}

// at returns the n-th ID.
func (s *idSequence) at(n uint32) mad.CommID { return mad.CommID(s.order.Map(32, idTweak, n)) }

// transaction returns the upper half of the transaction ID of a connection.
func (s *idSequence) transaction(id mad.CommID) uint64 {
	return uint64(s.order.Map(32, transactionTweak, uint32(id)))
}

// probe returns a transaction ID that is independent of all others: 64 bits, never 0.
func (s *idSequence) probe() uint64 {
	s.probes++
	return uint64(s.order.Map(32, probeTweak, s.probes))<<32 | uint64(s.order.Map(32, probeTweak2, s.probes)) | 1
}
