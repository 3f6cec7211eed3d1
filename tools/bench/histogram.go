package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bar is a part of a histogram: how many took up to so many microseconds, and more than the bar before. As JSON it is [up to, how many].
type Bar struct {
	UpTo  float64 // µs
	Count int64
}

// MarshalJSON writes [up to, how many].
func (b Bar) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]any{b.UpTo, b.Count})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bar) UnmarshalJSON(text []byte) error {
	var pair [2]json.Number
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	var err error
	if b.UpTo, err = pair[0].Float64(); err != nil {
		return fmt.Errorf("bar %s: %w", text, err)
	}
	if b.Count, err = pair[1].Int64(); err != nil {
		return fmt.Errorf("bar %s: %w", text, err)
	}
	return nil
}

// Times are those of messages: 1 ns to a minute, to two digits.
type Times struct{ hist *hdrhistogram.Histogram }

// NewTimes returns an empty one.
func NewTimes() *Times { return &Times{hdrhistogram.New(1, time.Minute.Nanoseconds(), 2)} }

// Add adds count times of so many microseconds. What is beyond the range counts at its end.
func (t *Times) Add(us float64, count int64) {
	ns := int64(math.Round(us * 1e3))
	// The error is of what is beyond the range, which this is not.
	_ = t.hist.RecordValues(min(max(ns, 1), time.Minute.Nanoseconds()), count)
}

// Bars are the histogram.
func (t *Times) Bars() []Bar {
	var out []Bar
	for _, b := range t.hist.Distribution() {
		if b.Count > 0 {
			out = append(out, Bar{UpTo: float64(b.To) / 1e3, Count: b.Count})
		}
	}
	return out
}

// Percentile returns that below which so many percent lie, in microseconds.
func (t *Times) Percentile(percent float64) float64 {
	return float64(t.hist.ValueAtPercentile(percent)) / 1e3
}

// timesOf puts the histograms of samples together, nil if there are none.
func timesOf(samples []*Sample) *Times {
	t, any := NewTimes(), false
	for _, s := range samples {
		for _, b := range s.Bars {
			t.Add(b.UpTo, b.Count)
			any = true
		}
	}
	if !any {
		return nil
	}
	return t
}
