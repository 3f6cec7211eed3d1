package peerlog

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// Rates of the log lines with the same message: of one host, and of all hosts together.
var (
	ofHost = pace.Rate{Burst: 10, Interval: time.Second}
	ofAll  = pace.Rate{Burst: 100, Interval: 100 * time.Millisecond}
)

// key identifies a bucket of a host.
type key struct {
	message string
	host    netip.Addr
}

// generation is the number of buckets in one generation. The current and the previous generation
// are kept, so at least this number of the most recently used buckets.
const generation = 1024

// buckets holds the buckets of hosts: now is the current generation, old the previous one.
type buckets struct{ now, old map[key]*pace.Bucket }

// get returns the bucket of a key. Buckets that were not used recently are discarded.
func (b *buckets) get(k key) *pace.Bucket {
	if t := b.now[k]; t != nil {
		return t
	}
	t := b.old[k]
	if t == nil {
		t = new(pace.Bucket)
	}
	if b.now == nil || len(b.now) >= generation {
		b.old, b.now = b.now, make(map[key]*pace.Bucket)
	}
	b.now[k] = t
	return t
}
