package peerlog

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// Rates of the lines of a message.
var (
	ofHost = pace.Rate{Burst: 10, Interval: time.Second}
	ofAll  = pace.Rate{Burst: 100, Interval: 100 * time.Millisecond}
)

// key identifies a bucket of a host.
type key struct {
	message string
	host    netip.Addr
}

// generation is the minimum number of recently used buckets of hosts that are kept. There are two
// generations.
const generation = 1024

// buckets holds the buckets of hosts.
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
