package respond

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// Rate limits of the items of perftest's exchange. An item costs the host several times as much
// as a packet, and a client can send items without waiting for the answers. They are therefore
// read at a limited rate: unread items fill the socket's buffers, and then the client waits. The
// bursts exceed what clients that are served send: one with 64 queue pairs sends 140 items, 16 of
// them with 32 queue pairs 1,100.
var (
	allItems     = pace.Rate{Burst: 4096, Interval: 200 * time.Microsecond}
	addressItems = pace.Rate{Burst: 1024, Interval: time.Millisecond}
	networkItems = pace.Rate{Burst: 2048, Interval: 500 * time.Microsecond}
	sessionItems = pace.Rate{Burst: 256, Interval: 10 * time.Millisecond}
)

// maxItemPaces exceeds the number of sources whose buckets can be less than full: the bucket of an
// address or a network is full after 1,100 ms without an item. At most 1,200 clients are accepted
// in that time, and 64 have sessions from before; with an address and a network each, these are at
// most 2,600 sources.
const maxItemPaces = 4096

// itemPaces holds the bucket of all sessions together, and those of the sources whose buckets are
// not full. They outlive sessions: a client that reconnects finds the same bucket.
type itemPaces struct {
	mu       sync.Mutex
	all      pace.Bucket            // guarded by mu
	bySource map[source]pace.Bucket // at most maxItemPaces entries; guarded by mu
}

// take takes n items of a client from the buckets, and returns how long the client must wait for
// them. A session waits for its items before it takes more, so it extends the wait of other
// sessions by at most the five items of a report.
func (p *itemPaces) take(peer netip.Addr, now time.Time, n int) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	forget(p.bySource, maxItemPaces, now)
	for _, s := range sources(peer) {
		rate, bucket := addressItems, p.bySource[s]
		if s.isNetwork() {
			rate = networkItems
		}
		bucket.Take(rate, now, n)
		p.bySource[s] = bucket
		wait = max(wait, bucket.Wait(rate, now, 0))
	}
	p.all.Take(allItems, now, n)
	return max(wait, p.all.Wait(allItems, now, 0))
}

// Items implements [perftest.Responder]: it waits until n more items of the session may be read. It
// ends a session with more items than any perftest client sends.
func (p *perftestEnd) Items(n int) error {
	p.itemCount += n
	if most := perftest.MaxItems(len(p.byPeer)); p.itemCount > most {
		return &earlyEnd{tooManyItems, fmt.Errorf("the client sent more than %d items, with %d queue pairs", most,
			len(p.byPeer))}
	}
	now := time.Now()
	p.pace.Take(sessionItems, now, n)
	wait := max(p.r.items.take(p.peer, now, n), p.pace.Wait(sessionItems, now, 0))
	if !sleep(p.ctx, wait) {
		return context.Cause(p.ctx)
	}
	return nil
}
