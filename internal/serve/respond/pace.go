package respond

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/internal/quota"
)

// Rate limits of accepted and closed connections. A TCP connection costs the host about sixty times
// as much as a packet. The rate of all clients keeps a flood of connections from taking the
// processor time of existing queue pairs: connections beyond it wait in the kernel, which drops
// them when its queue is full. The rates of an address and of a network leave the rest to others:
// connections beyond them are closed at once, which costs less than serving them, and has its own
// rate.
var (
	allClients      = pace.Rate{Burst: 100, Interval: time.Millisecond}
	addressClients  = pace.Rate{Burst: 50, Interval: 10 * time.Millisecond}
	networkClients  = pace.Rate{Burst: 75, Interval: 2 * time.Millisecond}
	allClosedAtOnce = pace.Rate{Burst: 1000, Interval: 100 * time.Microsecond}
)

// source is an address or a network of clients. A link-local addr has a zone.
type source struct {
	addr netip.Addr
	bits int
}

// isNetwork reports whether s is a network.
func (s source) isNetwork() bool { return s.bits != s.addr.BitLen() }

func (s source) rate() pace.Rate {
	if s.isNetwork() {
		return networkClients
	}
	return addressClients
}

// sources returns the source of an address, and for IPv6 that of its network.
func sources(peer netip.Addr) []source {
	all := []source{{peer, peer.BitLen()}}
	if n := quota.NetworkOf(peer); n.IsValid() {
		all = append(all, source{n.Addr, n.Bits})
	}
	return all
}

// paces holds the buckets of a listener: those of all its clients, and those of the sources whose
// buckets are not full.
type paces struct {
	accepted, closed pace.Bucket
	bySource         map[source]pace.Bucket // at most maxPaces entries
	// spent is called when a source has taken its last token, with the time until its bucket is
	// full.
	spent func(s source, refill time.Duration)
}

// maxPaces exceeds the number of sources whose buckets can be less than full: addresses with a
// client accepted in the last 500 ms, at most 600, and networks with a client accepted in the last
// 150 ms, at most 250.
const maxPaces = 1024

// admit counts a client that was accepted at now. It returns whether to serve the client, and how
// long to wait before the next one is accepted.
func (p *paces) admit(peer netip.Addr, now time.Time) (served bool, wait time.Duration) {
	from := sources(peer)
	for _, s := range from {
		if bucket := p.bySource[s]; bucket.Wait(s.rate(), now, 1) > 0 {
			p.closed.Take(allClosedAtOnce, now, 1)
			return false, p.closed.Wait(allClosedAtOnce, now, 1)
		}
	}
	forget(p.bySource, maxPaces, now)
	for _, s := range from {
		bucket := p.bySource[s]
		bucket.Take(s.rate(), now, 1)
		p.bySource[s] = bucket
		if bucket.Wait(s.rate(), now, 1) > 0 {
			p.spent(s, bucket.Refill(now))
		}
	}
	p.accepted.Take(allClients, now, 1)
	return true, p.accepted.Wait(allClients, now, 1)
}

// forget removes full buckets if of, with at most most entries, has no space for two more sources.
func forget(of map[source]pace.Bucket, most int, now time.Time) {
	if len(of) < most-1 {
		return
	}
	for s, bucket := range of {
		if bucket.Refill(now) == 0 {
			delete(of, s)
		}
	}
}
