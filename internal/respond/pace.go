package respond

import (
	"net/netip"
	"time"
)

// rate is how many connections are accepted or closed: burst at once, and one in interval.
type rate struct {
	burst    int
	interval time.Duration
}

// A TCP connection costs the host some sixty times as long as a packet. The rate of all clients keeps a flood of connections from
// taking the processor from the queue pairs that there are: what is beyond it waits in the kernel, which drops it where its queue
// is full. The rates of an address and of a network leave the rest of that to others: what is beyond them is closed at once, which
// costs less than to serve it, and is limited by a rate of its own.
var (
	allClients      = rate{100, time.Millisecond}
	addressClients  = rate{50, 10 * time.Millisecond}
	networkClients  = rate{75, 2 * time.Millisecond}
	allClosedAtOnce = rate{1000, 100 * time.Microsecond}
)

// pace is a bucket of rate.burst tokens that gets one in rate.interval. The zero value is full.
type pace struct{ full time.Time } // when no token is missing

// take takes a token, also one that is not there yet.
func (p *pace) take(r rate, now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(r.interval)
}

// wait returns how long it takes until there is a token: 0 or less if there is one.
func (p *pace) wait(r rate, now time.Time) time.Duration {
	return max(p.full.Sub(now), 0) - time.Duration(r.burst-1)*r.interval
}

// source is where clients come from: an address with the zone of a link-local one, or a network.
type source struct {
	addr netip.Addr
	bits int
}

// networkBits is the length of the IPv6 networks that have a rate: the least part of one that a host can have for itself.
const networkBits = 64

func (s source) rate() rate {
	if s.bits == s.addr.BitLen() {
		return addressClients
	}
	return networkClients
}

// sources returns the source of an address, and that of its network for IPv6. Link-local addresses have no network of their own.
func sources(peer netip.Addr) []source {
	all := []source{{peer, peer.BitLen()}}
	if network, err := peer.Prefix(networkBits); err == nil && peer.Is6() && !peer.IsLinkLocalUnicast() {
		all = append(all, source{network.Addr(), networkBits})
	}
	return all
}

// paces are those of a listener: of all its clients, and of the sources that have tokens missing.
type paces struct {
	accepted, closed pace
	of               map[source]pace // maxPaces at most
	// spent is called when a source has taken its last token, with the time that it takes until none is missing.
	spent func(s source, refill time.Duration)
}

// maxPaces is more than the number of sources that can have tokens missing: those of addresses have been accepted in the last
// 500 ms, which are 600 at most, and those of networks in the last 150 ms, which are 250.
const maxPaces = 1024

// enter counts a client that was accepted at now. It reports whether the client is served, and how long to wait before another
// one is accepted.
func (p *paces) enter(peer netip.Addr, now time.Time) (served bool, wait time.Duration) {
	from := sources(peer)
	for _, s := range from {
		if bucket := p.of[s]; bucket.wait(s.rate(), now) > 0 {
			p.closed.take(allClosedAtOnce, now)
			return false, p.closed.wait(allClosedAtOnce, now)
		}
	}
	p.forget(now)
	for _, s := range from {
		bucket := p.of[s]
		bucket.take(s.rate(), now)
		p.of[s] = bucket
		if bucket.wait(s.rate(), now) > 0 {
			p.spent(s, bucket.full.Sub(now))
		}
	}
	p.accepted.take(allClients, now)
	return true, p.accepted.wait(allClients, now)
}

// forget makes room for two more sources.
func (p *paces) forget(now time.Time) {
	if len(p.of) < maxPaces-1 {
		return
	}
	for s, bucket := range p.of {
		if !bucket.full.After(now) {
			delete(p.of, s)
		}
	}
}
