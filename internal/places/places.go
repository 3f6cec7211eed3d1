// Package places bounds the clients of a service: in all, of one IPv6 network and of one host. Where a bound is
// reached, a new client takes the place of one that has asked for a connection and not gone on with it: a request may
// bear another's address, and such requests must not keep the owner of the address out.
//
// The package has no clock and no lock: time is a parameter, and the caller sees to it that calls of the
// methods of [Places] do not overlap.
package places

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// Grace is how long a client that is not connected keeps its place at least, which is the time to go
// on with its request.
const Grace = 100 * time.Millisecond

// takings is the rate at which clients take the places of others, whatever their hosts: it bounds how often a service
// accepts requests in vain, each of which takes some 60 to 100 µs of a processor.
var takings = pace.Rate{Burst: 128, Interval: time.Millisecond}

// Answers is the rate at which a service answers requests that it refuses. It ignores the others: their
// senders repeat them, and a third party whose address was forged receives fewer answers.
func Answers() pace.Rate { return pace.Rate{Burst: 128, Interval: 10 * time.Millisecond} }

// ErrTaken is for the error of a request whose place was taken.
var ErrTaken = errors.New("another client took its place")

// Places are the clients of a service.
type Places struct {
	all, ofNetwork, ofHost int // bounds
	total                  int
	hosts                  map[netip.Addr]int // of total, none of 0
	networks               map[Network]int    // of total, none of 0
	asking                 []*Place           // those that are not connected, oldest first
	answers                pace.Bucket        // of the rate Answers
	taken                  pace.Bucket        // of the rate takings
}

// Place is that of one client.
type Place struct {
	host    netip.Addr
	network Network
	since   time.Time
	giveUp  func()
	lost    bool          // another client has it
	before  *Place        // of the client that it was taken from, nil for none
	left    chan struct{} // closed by Leave
}

// Wait returns when the client that the place was taken from has left. The caller holds no lock.
func (p *Place) Wait() {
	if p.before != nil {
		<-p.before.left
		p.before = nil
	}
}

// New makes places for so many clients in all and of one host. The hosts of a network have three quarters of all
// together, and at least as many as one of them.
func New(all, ofHost int) *Places {
	return &Places{
		all: all, ofNetwork: max(all*3/4, ofHost), ofHost: ofHost,
		hosts: map[netip.Addr]int{}, networks: map[Network]int{},
	}
}

// Taken returns how many clients there are, and of how many hosts.
func (p *Places) Taken() (clients, hosts int) { return p.total, len(p.hosts) }

// A Bound is one on the number of clients.
type Bound uint8

// The bounds.
const (
	NoBound   Bound = iota
	OfAll           // clients of the service
	OfNetwork       // clients of an IPv6 network
	OfHost          // clients of a host
)

// Refusal says why a client has no place; the zero value is of one that has.
type Refusal struct {
	Bound Bound // that was reached
	// Soon is set if places within the bound are those of clients that are not connected. The request is not answered
	// then: its sender repeats it, and may find a place. An answer would end it.
	Soon bool
}

// MayAnswer reports whether a request that is refused now is answered, and counts the answer.
func (p *Places) MayAnswer(now time.Time) bool { return p.answers.TakeIfThere(Answers(), now) }

// Enter gives a client of host a place. giveUp is called if another takes it before the client is
// connected. The other waits until the client has left, so that there never are more than the bounds.
func (p *Places) Enter(now time.Time, host netip.Addr, giveUp func()) (*Place, Refusal) {
	place := &Place{host: host, network: NetworkOf(host), since: now, giveUp: giveUp, left: make(chan struct{})}
	if bound, within := p.reached(place); bound != NoBound {
		i := slices.IndexFunc(p.asking, within)
		if i < 0 {
			return nil, Refusal{Bound: bound}
		}
		other := p.asking[i]
		if now.Sub(other.since) < Grace || !p.taken.TakeIfThere(takings, now) {
			return nil, Refusal{bound, true}
		}
		p.remove(other)
		place.before, other.lost = other, true
		other.giveUp()
	}
	p.total++
	p.hosts[host]++
	if place.network.IsValid() {
		p.networks[place.network]++
	}
	p.asking = append(p.asking, place)
	return place, Refusal{}
}

// reached returns the bound that leaves no room for a place, and which places are within it.
func (p *Places) reached(n *Place) (_ Bound, within func(*Place) bool) {
	switch {
	case p.hosts[n.host] >= p.ofHost:
		return OfHost, func(o *Place) bool { return o.host == n.host }
	case n.network.IsValid() && p.networks[n.network] >= p.ofNetwork:
		return OfNetwork, func(o *Place) bool { return o.network == n.network }
	case p.total >= p.all:
		return OfAll, func(*Place) bool { return true }
	}
	return NoBound, nil
}

// Connected makes the place its client's until it leaves. It returns false if another has it.
func (p *Places) Connected(place *Place) bool {
	p.settle(place)
	return !place.lost
}

// Leave gives the place back. It is called once.
func (p *Places) Leave(place *Place) {
	if !place.lost {
		p.remove(place)
	}
	close(place.left)
}

func (p *Places) remove(place *Place) {
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

// settle ends that the place can be taken.
func (p *Places) settle(place *Place) {
	if i := slices.Index(p.asking, place); i >= 0 {
		p.asking = slices.Delete(p.asking, i, i+1)
	}
}
