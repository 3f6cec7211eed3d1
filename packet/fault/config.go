package fault

import (
	"math/rand/v2"
	"time"
)

// Config says what a faulty link does to the frames of one direction. Probabilities are 0 to 1. What befalls a frame
// is drawn from Seed and the frame's number alone: the same frames in the same order fare the same under the same
// seed, and changing one probability does not change who meets the other faults.
type Config struct {
	Seed uint64
	// Drop loses the frame.
	Drop float64
	// Duplicate sends the frame twice, the second copy right behind the first.
	Duplicate float64
	// Reorder holds the frame back until 1 to ReorderSpan later frames have gone, or ReorderHold has passed.
	Reorder float64
	// ReorderSpan is how many frames may overtake at most; 0 means 4.
	ReorderSpan int
	// ReorderHold is the longest a frame waits to be overtaken; 0 means 2 ms. Not used on receive, where a frame waits for
	// the end of its batch at most.
	ReorderHold time.Duration
	// Corrupt flips one bit of the frame, anywhere in its UDP payload.
	Corrupt float64
	// ECNMark sets the ECN bits of the traffic class to CE (both bits).
	ECNMark float64
	// Delay is added to every frame, and at random up to Jitter on top, which reorders. Not used on receive.
	Delay, Jitter time.Duration
}

// Counters counts the frames of one direction and what was done to them.
type Counters struct {
	Frames                                                        uint64
	Dropped, Duplicated, Reordered, Corrupted, ECNMarked, Delayed uint64
	// Failed is held frames that the link below refused when their time came.
	Failed uint64
}

// ecnCE is the ECN field "congestion experienced" (RFC 3168).
const ecnCE = 3

// fate is what is to happen to one frame.
type fate struct {
	drop, duplicate, reorder, corrupt, mark bool
	span                                    int           // frames that may overtake, if reorder
	bit                                     float64       // which bit to flip, as a part of the frame
	delay                                   time.Duration // in all
}

// fates draws the fate of one frame after the other.
type fates struct {
	cfg   Config
	rnd   *rand.Rand
	count Counters
}

func newFates(cfg Config, stream uint64) fates {
	if cfg.ReorderSpan <= 0 {
		cfg.ReorderSpan = 4
	}
	if cfg.ReorderHold <= 0 {
		cfg.ReorderHold = 2 * time.Millisecond
	}
	return fates{cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, stream))}
}

// idle reports whether nothing is ever done to a frame.
func (f *fates) idle() bool {
	c := &f.cfg
	return c.Drop <= 0 && c.Duplicate <= 0 && c.Reorder <= 0 && c.Corrupt <= 0 && c.ECNMark <= 0 && c.Delay <= 0 && c.Jitter <= 0
}

// next draws the same number of values for every frame, whatever the configuration.
func (f *fates) next() fate {
	c := &f.cfg
	var u [8]float64
	for i := range u {
		u[i] = f.rnd.Float64()
	}
	f.count.Frames++
	ft := fate{
		drop: u[0] < c.Drop, duplicate: u[1] < c.Duplicate, reorder: u[2] < c.Reorder, corrupt: u[3] < c.Corrupt, mark: u[4] < c.ECNMark,
		span: 1 + int(u[5]*float64(c.ReorderSpan)), bit: u[6],
		delay: c.Delay + time.Duration(u[7]*float64(c.Jitter)),
	}
	if ft.drop {
		ft = fate{drop: true}
		f.count.Dropped++
		return ft
	}
	add(&f.count.Duplicated, ft.duplicate)
	add(&f.count.Reordered, ft.reorder)
	add(&f.count.Corrupted, ft.corrupt)
	add(&f.count.ECNMarked, ft.mark)
	add(&f.count.Delayed, ft.delay > 0)
	return ft
}

func add(n *uint64, when bool) {
	if when {
		*n++
	}
}

// flip inverts the bit that lies at the part bit, 0 to 1, of data.
func flip(data []byte, bit float64) {
	if n := int(bit * float64(8*len(data))); n < 8*len(data) {
		data[n/8] ^= 1 << (n % 8)
	}
}
