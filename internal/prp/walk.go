package prp

const (
	// Bits is the width of the numbers of a [Walk].
	Bits = 24
	// partBits is the width of a part of a lap.
	partBits = 20
	// Distance is how many steps of a walk lie at least between a number and the same number: 15/16
	// of a lap.
	Distance = 1<<Bits - 1<<partBits + 1
)

// Tweaks of a walk have their kind in the highest byte; no other user of its permutation takes these.
const (
	lapTweak  = 0xff << 56
	partTweak = 0xfe << 56 // with lap and part
)

// Walk takes all numbers of 24 bits in laps, each number once in a lap, and each lap in an order of
// its own. The numbers are divided into 16 parts, which follow one another in every lap. So a
// number comes back late, and a peer that has seen a whole lap knows of the next number only
// the part.
type Walk struct {
	order          *Permutation
	bits, partBits uint8
}

// NewWalk returns the walk that belongs to the secret of a permutation.
func NewWalk(order *Permutation) Walk { return Walk{order, Bits, partBits} }

// At returns the number at a step, and in which lap it is, both counted from 0.
func (w *Walk) At(step uint64) (number uint32, lap uint64) {
	lap = step >> w.bits
	part := uint32(step>>w.partBits) & (1<<(w.bits-w.partBits) - 1)
	place := uint32(step) & (1<<w.partBits - 1)
	place = w.order.Map(w.partBits, partTweak|lap<<8|uint64(part), place)
	return w.order.Map(w.bits, lapTweak, part<<w.partBits|place), lap
}
