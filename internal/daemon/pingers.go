package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/internal/rping"
)

const (
	// maxPingers is how many rping clients a device serves at a time; each costs 64 KiB.
	maxPingers = 256
	// maxPingersOfHost is how many of them one host may have. Whoever asks has a place, also if
	// the connection never comes to be, for up to two minutes: no host is to have them all.
	maxPingersOfHost = 64
)

// pingers are the rping clients of a device.
type pingers struct {
	mu     sync.Mutex
	total  int
	hosts  map[netip.Addr]int // of total, none of 0
	counts pingerCounts
}

// pingerCounts say what became of clients.
type pingerCounts struct {
	served       uint64 // came to an end that they chose, or the daemon
	endedEarly   uint64 // in an error, such as silence
	notConnected uint64 // asked and did not go on
	busy         uint64 // refused: as many as there may be
	busyPeer     uint64 // refused: as many as a host may have
}

func newPingers() *pingers { return &pingers{hosts: map[netip.Addr]int{}} }

// enter gives a client of host a place, if there is one.
func (p *pingers) enter(host netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.total >= maxPingers:
		p.counts.busy++
		return false
	case p.hosts[host] >= maxPingersOfHost:
		p.counts.busyPeer++
		return false
	}
	p.total++
	p.hosts[host]++
	return true
}

// leave takes back the place of a client that ended with err.
func (p *pingers) leave(host netip.Addr, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.hosts[host]--; p.hosts[host] == 0 {
		delete(p.hosts, host)
	}
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
