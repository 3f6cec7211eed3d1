package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/places"
	"github.com/gorxe/gorxe/internal/serve/rping"
)

const (
	// maxPingers is how many rping clients a device serves at a time; each costs 64 KiB.
	maxPingers = 256
	// maxPingersOfHost is how many of them one host may have; the hosts of an IPv6 /64 have three quarters of all. A
	// client has a place from its request on, but another may take it until the connection is established: see places.
	maxPingersOfHost = 64
)

// pingers are the rping clients of a device.
type pingers struct {
	mu     sync.Mutex
	places *places.Places
	counts pingerCounts
}

// pingerCounts say what became of clients.
type pingerCounts struct {
	served       uint64 // came to an end that they chose, or the daemon
	endedEarly   uint64 // in an error, such as silence
	notConnected uint64 // asked and did not go on
	busy         uint64 // refused: as many as there may be
	busyPeer     uint64 // refused: as many as a host, or an IPv6 /64, may have
}

func newPingers() *pingers { return &pingers{places: places.New(maxPingers, maxPingersOfHost)} }

// enter gives a client of host a place, nil if there is none: answered is false if that request is to
// be ignored. giveUp is called if another client takes the place.
func (p *pingers) enter(host netip.Addr, giveUp func()) (place *places.Place, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	place, refusal := p.places.Enter(now, host, giveUp)
	switch refusal.Bound {
	case places.OfAll:
		p.counts.busy++
	case places.OfHost, places.OfNetwork:
		p.counts.busyPeer++
	}
	return place, place != nil || !refusal.Soon && p.places.MayAnswer(now)
}

// connected keeps a place for its client, which is connected. It returns false if another has it.
func (p *pingers) connected(place *places.Place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places.Connected(place)
}

// leave takes back the place of a client that ended with err.
func (p *pingers) leave(place *places.Place, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places.Leave(place)
	switch {
	case errors.Is(err, rping.ErrNotConnected):
		p.counts.notConnected++
	case err == nil, errors.Is(err, context.Canceled):
		p.counts.served++
	default:
		p.counts.endedEarly++
	}
}

// each calls f with every count and its name.
func (p *pingers) each(f func(name string, value uint64)) {
	p.mu.Lock()
	c := p.counts
	p.mu.Unlock()
	f("served", c.served)
	f("ended_early", c.endedEarly)
	f("not_connected", c.notConnected)
	f("refused_busy", c.busy)
	f("refused_busy_peer", c.busyPeer)
}
