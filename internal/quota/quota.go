// Package quota limits the number of clients of a service: in total, for each IPv6 network and
// for each host. When a limit is reached, a new client evicts one that has requested a
// connection but not completed it: source addresses of requests can be forged, and such
// requests must not lock out the owner of the address.
//
// The package has no clock and no lock: time is a parameter, and the caller must ensure that
// calls of the methods of [Clients] do not overlap.
package quota

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// Grace is the minimum time that a client that is not connected keeps its place, to complete
// its request.
const Grace = 100 * time.Millisecond

// evictionRate is the maximum rate of evictions, over all hosts: it limits the number of requests
// that a service accepts in vain, each of which takes some 60 to 100 µs of a processor.
var evictionRate = pace.Rate{Burst: 128, Interval: time.Millisecond}

// Answers returns the maximum rate at which a service answers requests that it rejects. Beyond this
// rate it ignores them: their senders retransmit them, and a third party whose address was forged
// receives fewer answers.
func Answers() pace.Rate { return pace.Rate{Burst: 128, Interval: 10 * time.Millisecond} }

// ErrEvicted is the error of a request whose client was evicted.
var ErrEvicted = errors.New("evicted by another client")

// Clients holds the clients of a service.
type Clients struct {
	all, ofNetwork, ofHost int                // limits
	total                  int                // number of clients
	hosts                  map[netip.Addr]int // clients by host; no zero counts
	networks               map[Network]int    // clients by network; no zero counts
	pending                []*Client          // clients that are not connected, oldest first
	answers                pace.Bucket        // bucket of MayAnswer
	evictions              pace.Bucket        // bucket of evictions
}

// Client is the place of one client, which counts towards the limits.
type Client struct {
	host    netip.Addr
	network Network
	since   time.Time
	onEvict func()
	evicted bool          // another client has the place
	evictee *Client       // client that this one has evicted and not yet waited for; nil: none
	left    chan struct{} // closed by Leave
}

// Wait waits until the client that this one evicted has left. The caller must not hold a lock.
func (p *Client) Wait() {
	if p.evictee != nil {
		<-p.evictee.left
		p.evictee = nil
	}
}

// New returns Clients for up to all clients in total and ofHost clients of each host. The hosts of
// an IPv6 network together may have three quarters of all, or ofHost if that is more.
func New(all, ofHost int) *Clients {
	return &Clients{
		all: all, ofNetwork: max(all*3/4, ofHost), ofHost: ofHost,
		hosts: map[netip.Addr]int{}, networks: map[Network]int{},
	}
}

// Taken returns the number of clients and the number of their hosts.
func (p *Clients) Taken() (clients, hosts int) { return p.total, len(p.hosts) }

// A Bound is the kind of a limit.
type Bound uint8

// The kinds of limits.
const (
	NoBound   Bound = iota
	OfAll           // clients of the service
	OfNetwork       // clients of an IPv6 network
	OfHost          // clients of a host
)

// Refusal is the reason why a client got no place; the zero value means that it got one.
type Refusal struct {
	Bound Bound // limit that was reached
	// Soon is set if a client that counts towards the limit is not connected yet, so a place may be
	// free soon. The service must then not answer the request: its sender retransmits it and may
	// get a place, while an answer would end the attempt.
	Soon bool
}

// MayAnswer reports whether to answer a rejected request now, and counts the answer.
func (p *Clients) MayAnswer(now time.Time) bool { return p.answers.TryTake(Answers(), now) }

// Enter adds a client of host. onEvict is called if another client evicts the new one before it is
// connected. The evicting client must call Wait, which returns when the evicted client has left, so
// that the limits are never exceeded.
func (p *Clients) Enter(now time.Time, host netip.Addr, onEvict func()) (*Client, Refusal) {
	place := &Client{host: host, network: NetworkOf(host), since: now, onEvict: onEvict, left: make(chan struct{})}
	if bound, within := p.reached(place); bound != NoBound {
		i := slices.IndexFunc(p.pending, within)
		if i < 0 {
			return nil, Refusal{Bound: bound}
		}
		other := p.pending[i]
		if now.Sub(other.since) < Grace || !p.evictions.TryTake(evictionRate, now) {
			return nil, Refusal{bound, true}
		}
		p.remove(other)
		place.evictee, other.evicted = other, true
		other.onEvict()
	}
	p.total++
	p.hosts[host]++
	if place.network.IsValid() {
		p.networks[place.network]++
	}
	p.pending = append(p.pending, place)
	return place, Refusal{}
}

// reached returns the limit that has no space for n, and a filter for the clients that count
// towards this limit; NoBound and nil if there is space.
func (p *Clients) reached(n *Client) (_ Bound, within func(*Client) bool) {
	switch {
	case p.hosts[n.host] >= p.ofHost:
		return OfHost, func(o *Client) bool { return o.host == n.host }
	case n.network.IsValid() && p.networks[n.network] >= p.ofNetwork:
		return OfNetwork, func(o *Client) bool { return o.network == n.network }
	case p.total >= p.all:
		return OfAll, func(*Client) bool { return true }
	}
	return NoBound, nil
}

// Connected makes the place permanent until the client leaves. It returns false if the client
// was evicted.
func (p *Clients) Connected(place *Client) bool {
	p.settle(place)
	return !place.evicted
}

// Leave removes the client. It must be called once.
func (p *Clients) Leave(place *Client) {
	if !place.evicted {
		p.remove(place)
	}
	close(place.left)
}

func (p *Clients) remove(place *Client) {
	p.settle(place)
	p.total--
	if p.hosts[place.host]--; p.hosts[place.host] == 0 {
		delete(p.hosts, place.host)
	}
	if !place.network.IsValid() {
		return
	}
	if p.networks[place.network]--; p.networks[place.network] == 0 {
		delete(p.networks, place.network)
	}
}

// settle removes the place from the places that can be evicted.
func (p *Clients) settle(place *Client) {
	if i := slices.Index(p.pending, place); i >= 0 {
		p.pending = slices.Delete(p.pending, i, i+1)
	}
}
