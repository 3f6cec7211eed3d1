package blast

import (
	"math/bits"
	"math/rand/v2"

	"github.com/gorxe/gorxe/bth"
)

// losses decides at random which of the packets that arrive are lost.
type losses struct {
	random *rand.PCG
	below  uint64 // a packet is lost if its random number is below this
}

// newLosses returns the losses of an end. part is the fraction of packets that are lost; end
// selects the random sequence, which is the same in every run.
func newLosses(part float64, end uint64) losses {
	return losses{random: rand.NewPCG(1, end), below: uint64(part * (1 << 64))}
}

// next reports whether the next packet is lost.
func (l *losses) next() bool { return l.random.Uint64() < l.below }

// arrivals records which packets have arrived.
type arrivals struct {
	expected bth.PSN  // all packets before it have arrived
	early    uint32   // number of packets after it that have arrived
	ring     []uint64 // a bit for each of them, at its PSN modulo the number of bits
}

// arrival classifies a received packet by its PSN.
type arrival int

const (
	inOrder   arrival = iota // expected, and no later packet has arrived
	filling                  // expected, and later packets have arrived
	early                    // after the expected one
	duplicate                // it has arrived before
	outside                  // further ahead than the ring reaches
)

// newArrivals returns arrivals that can record packets up to reach after the expected one.
func newArrivals(reach uint32) arrivals {
	return arrivals{ring: make([]uint64, max(1, (1<<bits.Len32(reach))/64))}
}

// reach returns the number of PSNs from the expected one on that can be recorded.
func (a *arrivals) reach() int { return len(a.ring) * 64 }

// bit returns the word and the bit of a PSN.
func (a *arrivals) bit(psn bth.PSN) (*uint64, uint64) {
	i := int(psn) & (a.reach() - 1)
	return &a.ring[i/64], 1 << (i % 64)
}

// take records a packet and returns its class.
func (a *arrivals) take(psn bth.PSN) arrival {
	ahead := psn.Diff(a.expected)
	switch {
	case ahead == 0 && a.early == 0:
		a.expected = psn.Add(1)
		return inOrder
	case ahead == 0:
		a.fill()
		return filling
	case ahead < 0:
		return duplicate
	case int(ahead) >= a.reach():
		return outside
	}
	word, bit := a.bit(psn)
	if *word&bit != 0 {
		return duplicate
	}
	*word |= bit
	a.early++
	return early
}

// fill moves the expected PSN behind a gap of one packet, to the next gap.
func (a *arrivals) fill() {
	for {
		a.expected = a.expected.Add(1)
		word, bit := a.bit(a.expected)
		if *word&bit == 0 {
			return
		}
		*word &^= bit
		a.early--
	}
}
