// Package histogram counts message latencies in bounded memory.
package histogram

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bucket is one bucket of a histogram. Count is the number of times (latencies) that are greater
// than UpTo of the previous bucket and at most UpTo. Its JSON form is [UpTo, Count].
type Bucket struct {
	UpTo  float64 // µs
	Count int64
}

// MarshalJSON returns [UpTo, Count].
func (b Bucket) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]any{b.UpTo, b.Count})
}

// UnmarshalJSON parses the result of MarshalJSON.
func (b *Bucket) UnmarshalJSON(text []byte) error {
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

// Times counts times of 1 ns to 1 minute in buckets of two significant digits. It is not safe
// for concurrent use.
type Times struct{ hist *hdrhistogram.Histogram }

// New returns an empty histogram.
func New() *Times { return &Times{hdrhistogram.New(1, time.Minute.Nanoseconds(), 2)} }

// Add counts count messages with a latency of us microseconds. A latency out of range is counted as
// the nearest limit.
func (t *Times) Add(us float64, count int64) {
	ns := int64(math.Round(us * 1e3))
	// The only error is a time out of range.
	_ = t.hist.RecordValues(min(max(ns, 1), time.Minute.Nanoseconds()), count)
}

// Bars returns the non-empty buckets in ascending order.
func (t *Times) Bars() []Bucket {
	var out []Bucket
	for _, b := range t.hist.Distribution() {
		if b.Count > 0 {
			out = append(out, Bucket{UpTo: float64(b.To) / 1e3, Count: b.Count})
		}
	}
	return out
}

// Percentile returns the time in microseconds that percent (0 to 100) of the times do not
// exceed.
func (t *Times) Percentile(percent float64) float64 {
	return float64(t.hist.ValueAtPercentile(percent)) / 1e3
}

// AddDuration counts one time.
func (t *Times) AddDuration(d time.Duration) {
	_ = t.hist.RecordValue(min(max(d.Nanoseconds(), 1), time.Minute.Nanoseconds()))
}

// DurationAt returns the time that percent (0 to 100) of the times do not exceed.
func (t *Times) DurationAt(percent float64) time.Duration {
	return time.Duration(t.hist.ValueAtPercentile(percent))
}
