package scenario

// Faults are the per-frame probabilities of the faults of a link.
type Faults struct {
	Drop, Duplicate, Reorder, Corrupt float64
	// Span is the longest extra delay of a reordered frame or of a duplicate.
	Span Time
}

// LinkSpec describes one direction between two nodes.
type LinkSpec struct {
	Rate  float64 // bytes per nanosecond; 0: unlimited
	Delay Time
	// Queue is the capacity of the link's queue in bytes; the link drops frames that do not fit.
	// 0 means no limit: the sender then waits until the link has sent the previous frame.
	Queue  int
	Faults Faults
	// Dead is the interval [Dead[0], Dead[1]) in which the link delivers nothing.
	Dead [2]Time
}

// FaultID identifies the fault decision about one frame: the link and the frame's number on it.
type FaultID struct {
	Link  int
	Frame uint32
}
