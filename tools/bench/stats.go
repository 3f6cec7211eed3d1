package bench

import (
	"slices"
	"strings"

	"github.com/gorxe/gorxe/internal/histogram"
)

// Spread is the distribution of measurements.
type Spread struct {
	N                                       int
	Min, Quarter, Median, ThreeQuarter, Max float64
}

// spread returns the Spread of values in any order, zero for none.
func spread(values []float64) Spread {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return Spread{}
	}
	return Spread{N: len(v), Min: v[0], Quarter: quantile(v, 0.25), Median: quantile(v, 0.5),
		ThreeQuarter: quantile(v, 0.75), Max: v[len(v)-1]}
}

// quantile returns the p-quantile of sorted, interpolated between neighbours.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// ratios returns the quotients, or the differences, of two contenders in the same rounds: what
// disturbs a round usually disturbs both. Samples that were measured in turn with another
// contender are used only for the ratio to that one.
func (r *Report) ratios(c *Contest, q Ratio) []float64 {
	switch {
	case q.Tail:
		return r.tails(c, q.Of)
	case q.To == "":
		return values(r.of(c, q.Of))
	}
	to := map[int]float64{}
	for _, s := range r.of(c, q.To) {
		if s.Beside == "" || s.Beside == q.Of {
			to[s.Round] = s.Value
		}
	}
	var out []float64
	for _, s := range r.of(c, q.Of) {
		if s.Beside != "" && s.Beside != q.To {
			continue
		}
		switch v := to[s.Round]; {
		case v <= 0:
		case q.Difference:
			out = append(out, s.Value-v)
		default:
			out = append(out, s.Value/v)
		}
	}
	return out
}

// tails returns, for each round, the 99th percentile of a contender's message times divided by
// their median.
func (r *Report) tails(c *Contest, contender string) []float64 {
	var out []float64
	for _, s := range r.of(c, contender) {
		m := s.Measured
		if m.summarize(); m.Median > 0 {
			out = append(out, m.P99/m.Median)
		}
	}
	return out
}

func values(samples []*Sample) []float64 {
	var out []float64
	for _, s := range samples {
		out = append(out, s.Value)
	}
	return out
}

// cutOnce is strings.Cut, with ok false unless sep occurs exactly once.
func cutOnce(s, sep string) (before, after string, ok bool) {
	if strings.Count(s, sep) != 1 {
		return s, "", false
	}
	return strings.Cut(s, sep)
}

// timesOf merges histograms; it returns nil if they are all empty.
func timesOf(parts ...[]histogram.Bucket) *histogram.Times {
	t, found := histogram.New(), false
	for _, bars := range parts {
		for _, b := range bars {
			t.Add(b.UpTo, b.Count)
			found = true
		}
	}
	if !found {
		return nil
	}
	return t
}
