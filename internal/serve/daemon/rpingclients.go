package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/internal/serve/rping"
)

const (
	// maxRpingClients is the maximum number of rping clients of a device at a time; each uses 64
	// KiB.
	maxRpingClients = 256
	// maxRpingClientsOfHost is the maximum per host. The hosts of an IPv6 /64 together have at most
	// three quarters of maxRpingClients. A client has a place from its request on; until its
	// connection is established, another client may take the place: see package quota.
	maxRpingClientsOfHost = 64
)

// rpingClients holds the rping clients of a device.
type rpingClients struct {
	mu      sync.Mutex
	clients *quota.Clients
	counts  rpingCounts
}

// rpingCounts holds counters of clients by result.
type rpingCounts struct {
	served       uint64 // ended by the client or the daemon
	endedEarly   uint64 // ended by an error, such as a silent client
	notConnected uint64 // did not complete the connection
	busy         uint64 // rejected: limit of all clients
	busyPeer     uint64 // rejected: limit of a host, or of an IPv6 /64
}

func newRpingClients() *rpingClients {
	return &rpingClients{clients: quota.New(maxRpingClients, maxRpingClientsOfHost)}
}

// enter reserves a place for a client of host. Without a free place it returns nil, and answered
// reports whether to reject the request; otherwise the caller ignores it. giveUp is called if
// another client takes the place.
func (p *rpingClients) enter(host netip.Addr, giveUp func()) (place *quota.Client, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	place, refusal := p.clients.Enter(now, host, giveUp)
	switch refusal.Bound {
	case quota.OfAll:
		p.counts.busy++
	case quota.OfHost, quota.OfNetwork:
		p.counts.busyPeer++
	}
	return place, place != nil || !refusal.Soon && p.clients.MayAnswer(now)
}

// connected keeps the place of a connected client. It returns false if another client has taken it.
func (p *rpingClients) connected(place *quota.Client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clients.Connected(place)
}

// leave releases the place of a client that ended with err.
func (p *rpingClients) leave(place *quota.Client, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients.Leave(place)
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
func (p *rpingClients) each(f func(name string, value uint64)) {
	p.mu.Lock()
	c := p.counts
	p.mu.Unlock()
	f("served", c.served)
	f("ended_early", c.endedEarly)
	f("not_connected", c.notConnected)
	f("refused_busy", c.busy)
	f("refused_busy_peer", c.busyPeer)
}
