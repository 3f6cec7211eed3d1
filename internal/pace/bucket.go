// Package pace limits how often something is done, by token buckets. It has no clock and no lock:
// time is a parameter, and the caller sees to it that calls of the methods of a [Bucket] do not
// overlap.
package pace

import "time"

// Rate is how often something is done: Burst times at once, and once in Interval after that.
type Rate struct {
	Burst    int
	Interval time.Duration
}

// Bucket is a bucket of Rate.Burst tokens that gets one in Rate.Interval. The zero value is full.
// Each method of a bucket is called with the same rate.
type Bucket struct{ full time.Time } // when no token is missing

// Take takes n tokens, also those that are not there yet.
func (b *Bucket) Take(r Rate, now time.Time, n int) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(time.Duration(n) * r.Interval)
}

// TakeIfThere takes a token if there is one, and reports whether there was.
func (b *Bucket) TakeIfThere(r Rate, now time.Time) bool {
	if b.Wait(r, now, 1) > 0 {
		return false
	}
	b.Take(r, now, 1)
	return true
}

// Wait returns how long it takes until there are n tokens: 0 or less if there are.
func (b *Bucket) Wait(r Rate, now time.Time, n int) time.Duration {
	return b.Refill(now) - time.Duration(r.Burst-n)*r.Interval
}

// Refill returns how long it takes until no token is missing.
func (b *Bucket) Refill(now time.Time) time.Duration { return max(b.full.Sub(now), 0) }
