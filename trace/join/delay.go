package join

import (
	"math/bits"
	"time"
)

// steps is the number of buckets per power of two of a histogram: neighbours differ by up to 25 %,
// so the middle of a bucket is accurate to 12 %.
const steps = 4

// maxOctave limits delays to 2^40 ns, 18 minutes.
const maxOctave = 40

// delays is a histogram of one-way delays.
type delays struct {
	n        uint64
	min, max int64
	buckets  [maxOctave * steps]uint32
}

func bucketOf(d int64) int {
	v := uint64(max(d, steps)) // up to steps ns share a bucket
	o := bits.Len64(v) - 1
	return min(o*steps+int(v>>(o-2)&(steps-1)), maxOctave*steps-1)
}

// middle returns the middle of bucket i in nanoseconds.
func middle(i int) int64 {
	o := i / steps
	low := int64(steps+i%steps) << o / steps
	return low + int64(1)<<o/(2*steps)
}

func (h *delays) add(d int64) {
	d = max(d, 0)
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.n++
	if b := &h.buckets[bucketOf(d)]; *b < 1<<32-1 {
		*b++
	}
}

// merge adds o, which may be nil, to h.
func (h *delays) merge(o *delays) {
	if o == nil || o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	for i, n := range o.buckets {
		h.buckets[i] += min(n, 1<<32-1-h.buckets[i])
	}
}

// quantile returns the delay that the share q of all does not exceed.
func (h *delays) quantile(q float64) int64 {
	left := int64(q * float64(h.n))
	for i, n := range h.buckets {
		if left -= int64(n); left < 0 {
			return min(max(middle(i), h.min), h.max)
		}
	}
	return h.max
}

// summary returns the summary of h, which may be nil.
func (h *delays) summary() Delay {
	if h == nil || h.n == 0 {
		return Delay{}
	}
	return Delay{h.n, time.Duration(h.min), time.Duration(h.max), time.Duration(h.quantile(0.5)),
		time.Duration(h.quantile(0.99))}
}
