// Package pace implements token buckets for rate limiting. It has no clock and no lock: time is
// a parameter, and the caller must ensure that calls of the methods of a [Bucket] do not
// overlap.
package pace

import "time"

// Rate is a rate limit: Burst events at once, and then one per Interval.
type Rate struct {
	Burst    int
	Interval time.Duration
}

// Bucket is a token bucket of Rate.Burst tokens that gains a token every Rate.Interval. The
// zero value is full. All calls for a bucket must use the same rate.
type Bucket struct{ full time.Time } // full is the time when the bucket will be full

// Take takes n tokens. If fewer are available, the bucket goes into debt.
func (b *Bucket) Take(r Rate, now time.Time, n int) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(time.Duration(n) * r.Interval)
}

// TryTake takes a token if one is available, and reports whether it did.
func (b *Bucket) TryTake(r Rate, now time.Time) bool {
	if b.Wait(r, now, 1) > 0 {
		return false
	}
	b.Take(r, now, 1)
	return true
}

// Wait returns the time until n tokens are available; 0 or less if they are available now.
func (b *Bucket) Wait(r Rate, now time.Time, n int) time.Duration {
	return b.Refill(now) - time.Duration(r.Burst-n)*r.Interval
}

// Refill returns the time until the bucket is full.
func (b *Bucket) Refill(now time.Time) time.Duration { return max(b.full.Sub(now), 0) }
