package respond

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/internal/places"
)

// How often connections are accepted or closed. A TCP connection costs the host some sixty times
// as long as a packet. The rate of all clients keeps a flood of connections from taking the
// processor from the queue pairs that there are: what is beyond it waits in the kernel, which drops
// it where its queue is full. The rates of an address and of a network leave the rest of that to
// others: what is beyond them is closed at once, which costs less than to serve it, and is limited
// by a rate of its own.
var (
	allClients      = pace.Rate{Burst: 100, Interval: time.Millisecond}
	addressClients  = pace.Rate{Burst: 50, Interval: 10 * time.Millisecond}
	networkClients  = pace.Rate{Burst: 75, Interval: 2 * time.Millisecond}
	allClosedAtOnce = pace.Rate{Burst: 1000, Interval: 100 * time.Microsecond}
)

// source is where clients come from: an address or a network, link-local ones with their zones.
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

// sources returns the source of an address, and that of its network for IPv6.
func sources(peer netip.Addr) []source {
	all := []source{{peer, peer.BitLen()}}
	if n := places.NetworkOf(peer); n.IsValid() {
		all = append(all, source{n.Addr, n.Bits})
	}
	return all
}

// paces are those of a listener: of all its clients, and of the sources that have tokens missing.
type paces struct {
	accepted, closed pace.Bucket
	of               map[source]pace.Bucket // maxPaces at most
	// spent is called when a source has taken its last token, with the time that it takes until none is missing.
	spent func(s source, refill time.Duration)
}

// maxPaces is more than the number of sources that can have tokens missing: those of addresses have
// been accepted in the last 500 ms, which are 600 at most, and those of networks in the last 150
// ms, which are 250.
const maxPaces = 1024

// enter counts a client that was accepted at now. It reports whether the client is served, and how
// long to wait before another one is accepted.
func (p *paces) enter(peer netip.Addr, now time.Time) (served bool, wait time.Duration) {
	from := sources(peer)
	for _, s := range from {
		if bucket := p.of[s]; bucket.Wait(s.rate(), now, 1) > 0 {
			p.closed.Take(allClosedAtOnce, now, 1)
			return false, p.closed.Wait(allClosedAtOnce, now, 1)
		}
	}
	forget(p.of, maxPaces, now)
	for _, s := range from {
		bucket := p.of[s]
		bucket.Take(s.rate(), now, 1)
		p.of[s] = bucket
		if bucket.Wait(s.rate(), now, 1) > 0 {
			p.spent(s, bucket.Refill(now))
		}
	}
	p.accepted.Take(allClients, now, 1)
	return true, p.accepted.Wait(allClients, now, 1)
}

// forget makes room for two more sources among at most most.
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
