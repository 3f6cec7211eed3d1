package sim

import "math/rand/v2"

// Faults are the probabilities, for each frame, of what a link does to it.
type Faults struct {
	Drop, Duplicate, Reorder, Corrupt float64
	// Span is the longest that a reordered frame, or the second copy of a repeated one,
	// comes late.
	Span Time
}

// LinkSpec describes one direction of the way between two nodes.
type LinkSpec struct {
	Rate  float64 // bytes a nanosecond; 0 is without limit
	Delay Time
	// Queue is how many bytes wait for the link to carry them. Frames that find it full are
	// dropped. 0 is without limit, and the sender waits until the link has carried the last.
	Queue  int
	Faults Faults
	// Dead is when nothing gets through: from the first time up to the second.
	Dead [2]Time
}

// FaultID names the decision about one frame: the link, and the frame's number on it.
type FaultID struct {
	Link  int
	Frame uint32
}

// fate is what happens to one frame.
type fate struct {
	drop, duplicate, corrupt bool
	late, again              Time // delay of the frame, of its copy
	bits                     [3]uint32
	flips                    int
}

func (f *fate) any() bool { return f.drop || f.duplicate || f.corrupt || f.late > 0 }

// draw decides from the seed and the frame's identity alone, so that a decision stays the
// same when others are taken out.
func (f *Faults) draw(seed uint64, id FaultID) fate {
	r := rand.New(rand.NewPCG(seed, uint64(id.Link)<<32|uint64(id.Frame)))
	var ft fate
	if r.Float64() < f.Drop {
		ft.drop = true
		return ft
	}
	if r.Float64() < f.Duplicate {
		ft.duplicate, ft.again = true, 1+Time(r.Int64N(int64(f.Span)+1))
	}
	if r.Float64() < f.Reorder {
		ft.late = 1 + Time(r.Int64N(int64(f.Span)+1))
	}
	if r.Float64() < f.Corrupt {
		ft.corrupt = true
		// CRC-32 finds up to three wrong bits in a packet of this length, wherever.
		ft.flips = 1 + r.IntN(3)
		for i := range ft.bits {
			ft.bits[i] = r.Uint32()
		}
	}
	return ft
}
