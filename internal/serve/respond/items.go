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

// How often items of perftest's exchange are read. Each costs the host several times as long as a
// packet, and a client can send them without waiting for the answers. So they are read at a pace:
// what is not read fills the socket's buffers, and then the client waits. The bursts are more than
// clients send that are served: one with 64 queue pairs sends 140 items, 16 of them with 32 queue
// pairs 1,100.
var (
	allItems     = pace.Rate{Burst: 4096, Interval: 200 * time.Microsecond}
	addressItems = pace.Rate{Burst: 1024, Interval: time.Millisecond}
	networkItems = pace.Rate{Burst: 2048, Interval: 500 * time.Microsecond}
	sessionItems = pace.Rate{Burst: 256, Interval: 10 * time.Millisecond}
)

// maxItemPaces is more than the number of sources that can have tokens missing: an address or a
// network has all its tokens after 1,100 ms without an item. At most 1,200 clients are accepted in
// that time, and 64 were there before: 2,600 addresses and networks.
const maxItemPaces = 4096

// itemPaces are those of all sessions together, and of the sources that have tokens missing. They
// outlive sessions: a client that connects again finds them as it left them.
type itemPaces struct {
	mu  sync.Mutex
	all pace.Bucket            // guarded by mu
	of  map[source]pace.Bucket // maxItemPaces at most; guarded by mu
}

// take takes n items of a client, and returns how long the client has to wait for them. A session
// waits for its items before it takes more, so it adds no more than the five of a report to the wait
// of others.
func (p *itemPaces) take(peer netip.Addr, now time.Time, n int) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	forget(p.of, maxItemPaces, now)
	for _, s := range sources(peer) {
		rate, bucket := addressItems, p.of[s]
		if s.isNetwork() {
			rate = networkItems
		}
		bucket.Take(rate, now, n)
		p.of[s] = bucket
		wait = max(wait, bucket.Wait(rate, now, 0))
	}
	p.all.Take(allItems, now, n)
	return max(wait, p.all.Wait(allItems, now, 0))
}

// Items waits until n more items of the session may be read. A session that has more than any
// client of perftest sends ends.
func (p *perftestEnd) Items(n int) error {
	p.count += n
	if most := perftest.MostItems(len(p.byPeer)); p.count > most {
		return &ended{tooManyItems, fmt.Errorf("the client sent more than %d items, with %d queue pairs", most, len(p.byPeer))}
	}
	now := time.Now()
	p.pace.Take(sessionItems, now, n)
	wait := max(p.r.items.take(p.peer, now, n), p.pace.Wait(sessionItems, now, 0))
	if !sleep(p.ctx, wait) {
		return context.Cause(p.ctx)
	}
	return nil
}
