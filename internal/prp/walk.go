package prp

const (
	// Bits is the width of the numbers of a [Walk].
	Bits = 24
	// partBits is the width of a position in a part of a lap.
	partBits = 20
	// Distance is the minimum number of steps between two occurrences of a number: 15/16 of a
	// lap.
	Distance = 1<<Bits - 1<<partBits + 1
)

// Tweaks of a walk. The highest byte is the kind; no other user of the permutation uses these
// values.
const (
	lapTweak  = 0xff << 56
	partTweak = 0xfe << 56 // combined with lap and part
)

// Walk enumerates the 24-bit numbers in laps. Each lap contains every number once, each lap in a
// different order. The numbers are divided into 16 parts, whose order is the same in every lap, so
// that a number does not recur soon. A peer that has seen a whole lap can therefore predict the
// part of the next number. One that has seen a part of the lap knows that the next number is none
// of those.
type Walk struct {
	order          *Permutation
	bits, partBits uint8
}

// NewWalk returns the walk that the secret of order determines.
func NewWalk(order *Permutation) Walk { return Walk{order, Bits, partBits} }

// At returns the number at a step, and its lap. Steps and laps start at 0.
func (w *Walk) At(step uint64) (number uint32, lap uint64) {
	lap = step >> w.bits
	part := uint32(step>>w.partBits) & (1<<(w.bits-w.partBits) - 1)
	place := uint32(step) & (1<<w.partBits - 1)
	place = w.order.Map(w.partBits, partTweak|lap<<8|uint64(part), place)
	return w.order.Map(w.bits, lapTweak, part<<w.partBits|place), lap
}
