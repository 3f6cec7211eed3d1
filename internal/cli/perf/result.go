package perf

import (
	"math"
	"slices"
	"time"

	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// result is the measurement of one end for one message size.
type result struct {
	size    uint64
	counted uint64        // number of measured messages
	elapsed time.Duration // total time of the measured messages
	// peakGap is the minimum time per message of a bandwidth test in ns, 0 if not measured.
	peakGap float64
	posted  []time.Duration // post time of each message of a latency test
}

// bandwidthUnit returns the number of bytes in the unit of the reported bandwidth.
func (p *params) bandwidthUnit() float64 {
	if p.gbits {
		return 125e6
	}
	return 1 << 20
}

// report returns the bandwidth result in the form that the tools exchange.
func (r *result) report(p *params) wire.Report {
	rep := wire.Report{Size: r.size, Iters: r.counted}
	if s := r.elapsed.Seconds(); s > 0 {
		rep.Average = float64(r.size) * float64(r.counted) / s / p.bandwidthUnit()
		rep.MsgRate = float64(r.counted) / s / 1e6
	}
	if r.peakGap > 0 {
		rep.Peak = float64(r.size) / (r.peakGap / 1e9) / p.bandwidthUnit()
	}
	return rep
}

// peakGap returns the minimum, over all intervals i..j of messages, of the average time per
// message in nanoseconds, from the post of i to the completion of j. It is 0 if no time passed.
// Both slices are sorted by time.
//
// The quotient (acked[j]-posted[i]) / (j-i+1) is at most g for some interval exactly if acked[j]
// - g*(j+1) is at most posted[i] - g*i. One pass finds the best interval for a given g, and its
// quotient is the next g, until g no longer decreases (Dinkelbach's method).
func peakGap(posted, acked []time.Duration) float64 {
	n := min(len(posted), len(acked))
	if n == 0 {
		return 0
	}
	gap := float64(acked[n-1]-posted[0]) / float64(n)
	for range 64 {
		next := gap
		best, start := math.Inf(-1), 0
		least := math.Inf(1)
		for j := range n {
			if v := float64(posted[j]) - gap*float64(j); v > best {
				best, start = v, j
			}
			if v := float64(acked[j]) - gap*float64(j+1) - best; v < least {
				least = v
				next = float64(acked[j]-posted[start]) / float64(j-start+1)
			}
		}
		if next >= gap {
			break
		}
		gap = max(next, 0)
	}
	return gap
}

// latencyStats holds the columns of a latency result, in microseconds.
type latencyStats struct {
	Min, Max, Typical, Average, StdDev, P99, P999 float64
}

// latencies returns the time of each message in microseconds, in order: the time between two
// posts, halved for a test with a message in each direction.
func (r *result) latencies(p *params) []float64 {
	per := 2.0
	if p.test.Fetches() {
		per = 1
	}
	var out []float64
	for i := 1; i < len(r.posted); i++ {
		out = append(out, float64(r.posted[i]-r.posted[i-1])/float64(time.Microsecond)/per)
	}
	return out
}

// summarize computes the columns from times in any order. As in perftest the two slowest times
// are excluded, except that the faster of them is the maximum. The typical value is the median;
// percentiles use the nearest rank.
func summarize(times []float64) latencyStats {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) <= latencyTail {
		return latencyStats{}
	}
	n := len(sorted) - latencyTail
	s := latencyStats{Min: sorted[0], Max: sorted[n], Typical: sorted[n/2]}
	if n%2 == 0 {
		s.Typical = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	s.P99 = sorted[int(math.Ceil(float64(n)*0.99))]
	s.P999 = sorted[int(math.Ceil(float64(n)*0.999))]
	sum := 0.0
	for _, v := range sorted[:n] {
		sum += v
	}
	s.Average = sum / float64(n)
	squares := 0.0
	for _, v := range sorted[:n] {
		squares += (v - s.Average) * (v - s.Average)
	}
	s.StdDev = math.Sqrt(squares / float64(n))
	return s
}

// averages returns the columns of a latency result of a run with -D: microseconds per message,
// and exchanges per second.
func (r *result) averages(p *params) (usec, tps float64) {
	if r.counted == 0 || r.elapsed <= 0 {
		return 0, 0
	}
	per := 2.0
	if p.test.Fetches() {
		per = 1
	}
	usec = float64(r.elapsed) / float64(time.Microsecond) / per / float64(r.counted)
	return usec, float64(r.counted) / r.elapsed.Seconds()
}
