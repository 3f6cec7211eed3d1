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
	// maxPingers is the maximum number of rping clients of a device at a time; each uses 64 KiB.
	maxPingers = 256
	// maxPingersOfHost is the maximum per host; the hosts of an IPv6 /64 have three quarters of
	// all. A client has a place from its request on, but another may take it until the connection
	// is established: see places.
	maxPingersOfHost = 64
)

// pingers holds the rping clients of a device.
type pingers struct {
	mu     sync.Mutex
	places *places.Places
	counts pingerCounts
}

// pingerCounts holds counters of clients by result.
type pingerCounts struct {
	served       uint64 // ended by the client or the daemon
	endedEarly   uint64 // ended by an error, such as a silent client
	notConnected uint64 // did not complete the connection
	busy         uint64 // rejected: limit of all clients
	busyPeer     uint64 // rejected: limit of a host, or of an IPv6 /64
}

func newPingers() *pingers { return &pingers{places: places.New(maxPingers, maxPingersOfHost)} }

// enter reserves a place for a client of host, nil if there is none; answered is then false if
// the request should be ignored. giveUp is called if another client takes the place.
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

// connected keeps the place of a connected client. It returns false if another client has it.
func (p *pingers) connected(place *places.Place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places.Connected(place)
}

// leave releases the place of a client that ended with err.
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

// each calls f with the name and value of every counter.
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
