package world

import (
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"math/rand/v2"
)

// fate is the set of faults that a link applies to one frame.
type fate struct {
	drop, duplicate, corrupt bool
	late, again              scenario.Time // extra delay of the frame, of its duplicate
	bits                     [3]uint32
	flips                    int // number of bits that are flipped, whose positions are in bits
}

func (f *fate) any() bool { return f.drop || f.duplicate || f.corrupt || f.late > 0 }

// draw draws the fate of a frame from the seed and the frame's identity only, so the faults of one
// frame do not depend on whether those of other frames are suppressed.
func draw(f *scenario.Faults, seed uint64, id scenario.FaultID) fate {
	r := rand.New(rand.NewPCG(seed, uint64(id.Link)<<32|uint64(id.Frame)))
	var ft fate
	if r.Float64() < f.Drop {
		ft.drop = true
		return ft
	}
	if r.Float64() < f.Duplicate {
		ft.duplicate, ft.again = true, 1+scenario.Time(r.Int64N(int64(f.Span)+1))
	}
	if r.Float64() < f.Reorder {
		ft.late = 1 + scenario.Time(r.Int64N(int64(f.Span)+1))
	}
	if r.Float64() < f.Corrupt {
		ft.corrupt = true
		// The ICRC, a CRC-32, detects any three flipped bits in a packet of this length.
		ft.flips = 1 + r.IntN(3)
		for i := range ft.bits {
			ft.bits[i] = r.Uint32()
		}
	}
	return ft
}
