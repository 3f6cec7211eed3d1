package peerlog

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// The rates at which lines of a message are written.
var (
	ofHost = pace.Rate{Burst: 10, Interval: time.Second}
	ofAll  = pace.Rate{Burst: 100, Interval: 100 * time.Millisecond}
)

// key names a bucket of a host.
type key struct {
	message string
	host    netip.Addr
}

// generation is how many buckets of hosts are kept at least, those that were used last. There are
// two generations.
const generation = 1024

// buckets are those of hosts.
type buckets struct{ now, old map[key]*pace.Bucket }

// get returns the bucket of a key. One that was not used for long is forgotten.
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
