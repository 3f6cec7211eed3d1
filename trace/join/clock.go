package join

import (
	"math"
	"time"
)

// maxBuckets is the maximum number of time intervals whose minimum differences a clock keeps. At
// the limit, neighbours are merged and the interval doubles.
const maxBuckets = 1024

// firstBucket is the first interval in nanoseconds.
const firstBucket = 1 << 20

// clock fits the time of capture B as a function of the time of capture A. Times are nanoseconds
// since the first sample.
//
// A packet that passes A first arrives at B after its delay, so that tB-tA is the offset plus a
// delay: the upper bound of the offset. A packet that passes B first gives the lower bound.
type clock struct {
	base  int64 // time in capture A of the first sample
	begun bool
	width int64 // of a bucket
	up    []bucket
	down  []bucket
	n     [2]int // samples of up and of down
	fit   Clock
	stale int // samples since the latest fit
}

// bucket has the extreme difference tB-tA of an interval.
type bucket struct {
	at, diff int64 // relative to the base
	used     bool
}

// Clock is the relation between the clocks of both captures.
type Clock struct {
	// Fitted reports whether packets in both directions allowed a fit. Without it, Offset is the
	// median difference of the samples, which includes the delay.
	Fitted bool
	// Offset is the time of capture B minus that of capture A, at the first matched packet.
	Offset time.Duration
	// Drift is the rate of the clock of B relative to that of A, minus 1, in parts per million.
	// DriftKnown reports whether it was measured: the captures have minDrift or more in common, and
	// delays vary so little that a line fits. Otherwise Drift is 0.
	Drift      float64
	DriftKnown bool
	// MinRTT is the sum of the minimum delays of both directions between the two capture points.
	MinRTT time.Duration
	// Bound is the maximum error of Offset and of delays: MinRTT/2, because the split of MinRTT
	// into two equal delays is an assumption.
	Bound time.Duration
	// Unsteady reports whether no straight line fits: a clock was stepped or slewed during the
	// capture. MinRTT is negative then.
	Unsteady bool
	Samples  [2]int // packets that passed A first, and packets that passed B first
}

// maxSlope is the maximum drift, as a ratio: clocks of hosts differ by up to 100 parts per million
// and Linux slews by up to 500 (MAXFREQ in include/linux/timex.h). A steeper line comes from
// delays that vary.
const maxSlope = 1000e-6

// minDrift is the shortest span of samples in which drift is measured.
const minDrift = 10 * time.Millisecond

// add adds a matched packet. aFirst reports whether it passed capture A first.
func (c *clock) add(tA, tB int64, aFirst bool) {
	if !c.begun {
		c.begun, c.base, c.width = true, tA, firstBucket
	}
	at, diff := tA-c.base, tB-tA
	if at < 0 {
		at = 0 // reordered before the first sample
	}
	for at/c.width >= maxBuckets {
		c.double()
	}
	i, side := int(at/c.width), &c.up
	if !aFirst {
		side = &c.down
		c.n[1]++
	} else {
		c.n[0]++
	}
	for len(*side) <= i {
		*side = append(*side, bucket{})
	}
	if b := &(*side)[i]; !b.used || aFirst && diff < b.diff || !aFirst && diff > b.diff {
		*b = bucket{at, diff, true}
	}
	c.stale++
}

// double doubles the width of the buckets.
func (c *clock) double() {
	c.width *= 2
	for _, side := range []*[]bucket{&c.up, &c.down} {
		s := *side
		for i := range (len(s) + 1) / 2 {
			b := s[2*i]
			if 2*i+1 < len(s) {
				o := s[2*i+1]
				lower := o.diff < b.diff
				if o.used && (!b.used || lower == (side == &c.up)) {
					b = o
				}
			}
			s[i] = b
		}
		*side = s[:(len(s)+1)/2]
	}
}

// refit is the number of samples after which [clock.offset] fits anew.
const refit = 1 << 12

// offset returns tB-tA of simultaneous events at the time tA, from the latest fit. Without samples
// in both directions, it is initial.
func (c *clock) offset(tA, initial int64) int64 {
	if c.stale >= refit || c.stale > 0 && c.n[0]+c.n[1] < refit {
		c.solve()
	}
	if !c.fit.Fitted {
		return initial
	}
	return int64(c.fit.Offset) + int64(math.Round(c.fit.Drift*1e-6*float64(tA-c.base)))
}

// solve fits the line.
func (c *clock) solve() {
	c.stale = 0
	c.fit = Clock{Samples: c.n}
	up, down := points(c.up, 1), points(c.down, -1)
	if len(up) == 0 || len(down) == 0 {
		return
	}
	slopes, weight := 0.0, 0.0
	for _, p := range [][]point{up, down} {
		sign := 1.0
		if &p[0] == &down[0] {
			sign = -1
		}
		if span := p[len(p)-1].x - p[0].x; span >= float64(minDrift) {
			slopes += sign * span * middleSlope(p)
			weight += span
		}
	}
	slope := 0.0
	if c.fit.DriftKnown = weight > 0; weight > 0 {
		slope = slopes / weight
	}
	if math.Abs(slope) > maxSlope {
		slope, c.fit.DriftKnown = 0, false
	}
	high, low := math.Inf(1), math.Inf(-1)
	for _, p := range up {
		high = min(high, p.y-slope*p.x)
	}
	for _, p := range down {
		low = max(low, -p.y-slope*p.x)
	}
	c.fit.Fitted = true
	c.fit.Offset = time.Duration(math.Round((high + low) / 2))
	c.fit.Drift = slope * 1e6
	c.fit.MinRTT = time.Duration(math.Round(high - low))
	c.fit.Unsteady = c.fit.MinRTT < 0
	c.fit.Bound = max(c.fit.MinRTT, -c.fit.MinRTT) / 2
}

// point is a sample: a time and a difference, in nanoseconds.
type point struct{ x, y float64 }

// points returns the samples of the used buckets in order of time, their differences times sign.
func points(s []bucket, sign float64) []point {
	var p []point
	for _, b := range s {
		if b.used {
			p = append(p, point{float64(b.at), sign * float64(b.diff)})
		}
	}
	return p
}

// lowerHull returns the lower convex hull of p, which is in order of x.
func lowerHull(p []point) []point {
	var h []point
	for _, q := range p {
		for len(h) > 1 && cross(h[len(h)-2], h[len(h)-1], q) <= 0 {
			h = h[:len(h)-1]
		}
		h = append(h, q)
	}
	return h
}

// cross is positive if a, b, c turn left.
func cross(a, b, c point) float64 { return (b.x-a.x)*(c.y-a.y) - (b.y-a.y)*(c.x-a.x) }

// middleSlope returns the slope of the line below all points of p with the smallest sum of
// distances to them: that of the edge of the lower hull at the mean x.
func middleSlope(p []point) float64 {
	mean := 0.0
	for _, q := range p {
		mean += q.x / float64(len(p))
	}
	h := lowerHull(p)
	for i := 1; i < len(h); i++ {
		if h[i].x >= mean && h[i].x > h[i-1].x {
			return (h[i].y - h[i-1].y) / (h[i].x - h[i-1].x)
		}
	}
	return 0
}
