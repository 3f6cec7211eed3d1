package fault

import "time"

// Config selects the faults that a faulty link injects into the frames of one direction. Fields of
// type float64 are probabilities, 0 to 1. The faults of a frame depend only on Seed and the number
// of the frame: with equal seeds, equal sequences of frames get equal faults, and changing one
// probability does not change which frames get the other faults.
type Config struct {
	Seed uint64
	// Drop drops the frame.
	Drop float64
	// Duplicate sends the frame twice, the second copy directly after the first.
	Duplicate float64
	// Reorder delays the frame until a random number of later frames, 1 to ReorderSpan, were sent,
	// or ReorderHold has passed.
	Reorder float64
	// ReorderSpan is the maximum number of later frames that overtake a reordered frame; 0 means 4.
	ReorderSpan int
	// ReorderHold is the maximum time that a reordered frame waits; 0 means 2 ms. It is not used
	// for incoming frames, which wait at most for the end of their batch.
	ReorderHold time.Duration
	// Corrupt flips one bit anywhere in the UDP payload.
	Corrupt float64
	// ECNMark sets the ECN field of the traffic class to CE (binary 11).
	ECNMark float64
	// Delay is added to every frame, plus a random time up to Jitter, which causes reordering. It
	// is not used for incoming frames.
	Delay, Jitter time.Duration
}

// Counters counts the frames of one direction and their faults.
type Counters struct {
	Frames                                                        uint64
	Dropped, Duplicated, Reordered, Corrupted, ECNMarked, Delayed uint64
	// Failed counts delayed frames that the wrapped link rejected later.
	Failed uint64
}

// ecnCE is the ECN codepoint "congestion experienced" (RFC 3168).
const ecnCE = 3

// frameFaults holds the faults of one frame.
type frameFaults struct {
	drop, duplicate, reorder, corrupt, mark bool
	span                                    int           // for reorder: frames that overtake it
	bit                                     float64       // for corrupt: position in frame, 0 to 1
	delay                                   time.Duration // delay and jitter
}

// faultSource draws the faults of successive frames.
type faultSource struct {
	cfg   Config
	rnd   generator
	count Counters
}

func newFaultSource(cfg Config, stream uint64) faultSource {
	if cfg.ReorderSpan <= 0 {
		cfg.ReorderSpan = 4
	}
	if cfg.ReorderHold <= 0 {
		cfg.ReorderHold = 2 * time.Millisecond
	}
	return faultSource{cfg: cfg, rnd: newGenerator(cfg.Seed, stream)}
}

// idle reports whether no fault is configured.
func (f *faultSource) idle() bool {
	c := &f.cfg
	return c.Drop <= 0 && c.Duplicate <= 0 && c.Reorder <= 0 && c.Corrupt <= 0 && c.ECNMark <= 0 &&
		c.Delay <= 0 && c.Jitter <= 0
}

// next returns the faults of the next frame. Each kind of fault has its own random value, even if
// that value is not used, so that one probability does not affect the other faults.
func (f *faultSource) next() (ft frameFaults) {
	c := &f.cfg
	f.count.Frames++
	if ft.drop = f.happens(0, c.Drop); ft.drop {
		f.count.Dropped++
		f.rnd.nextFrame()
		return ft
	}
	ft.duplicate = f.happens(1, c.Duplicate)
	ft.reorder = f.happens(2, c.Reorder)
	ft.corrupt = f.happens(3, c.Corrupt)
	ft.mark = f.happens(4, c.ECNMark)
	ft.delay = c.Delay
	if ft.reorder {
		ft.span = 1 + int(f.rnd.draw(5)*float64(c.ReorderSpan))
	}
	if ft.corrupt {
		ft.bit = f.rnd.draw(6)
	}
	if c.Jitter > 0 {
		ft.delay += time.Duration(f.rnd.draw(7) * float64(c.Jitter))
	}
	f.rnd.nextFrame()
	add(&f.count.Duplicated, ft.duplicate)
	add(&f.count.Reordered, ft.reorder)
	add(&f.count.Corrupted, ft.corrupt)
	add(&f.count.ECNMarked, ft.mark)
	add(&f.count.Delayed, ft.delay > 0)
	return ft
}

// happens reports whether a fault of the given probability happens to this frame. n is the index of
// the fault's random value.
func (f *faultSource) happens(n int, probability float64) bool {
	return probability > 0 && f.rnd.draw(n) < probability
}

func add(n *uint64, when bool) {
	if when {
		*n++
	}
}

// flip inverts one bit of data, at the relative position bit, 0 to 1.
func flip(data []byte, bit float64) {
	if n := int(bit * float64(8*len(data))); n < 8*len(data) {
		data[n/8] ^= 1 << (n % 8)
	}
}
