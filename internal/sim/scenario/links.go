package scenario

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
