package peerlog

import (
	"net/netip"
	"time"
)

// limit is a rate of lines.
type limit struct {
	burst  float64 // lines at once
	second float64 // lines a second after that
}

// The limits of a message.
var (
	ofHost = limit{10, 1}
	ofAll  = limit{100, 10}
)

// bucket holds the tokens of a limit.
type bucket struct {
	tokens float64
	at     time.Time // of tokens
}

// take takes a token, if there is one.
func (b *bucket) take(l limit, now time.Time) bool {
	if b.at.IsZero() {
		b.tokens = l.burst
	}
	if d := now.Sub(b.at); d > 0 {
		b.tokens, b.at = min(l.burst, b.tokens+d.Seconds()*l.second), now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// key names a bucket of a host.
type key struct {
	message string
	host    netip.Addr
}

// generation is how many buckets of hosts are kept at least, those that were used last. There are
// two generations.
const generation = 1024

// buckets are those of hosts.
type buckets struct{ now, old map[key]*bucket }

// get returns the bucket of a key. One that was not used for long is forgotten.
func (b *buckets) get(k key) *bucket {
	if t := b.now[k]; t != nil {
		return t
	}
	t := b.old[k]
	if t == nil {
		t = &bucket{}
	}
	if b.now == nil || len(b.now) >= generation {
		b.old, b.now = b.now, make(map[key]*bucket)
	}
	b.now[k] = t
	return t
}
