package route

import (
	"net/netip"
	"sync/atomic"

	"github.com/vishvananda/netlink"
)

// destination is what is known of one.
type destination struct {
	addr    netip.Addr
	hop     atomic.Pointer[Hop] // nil: none, or not known
	missing atomic.Bool         // the next hop is a neighbour without a link-layer address
	used    atomic.Bool         // since the last sweep
	held    atomic.Bool         // by Hold, for Due: Hops.held tells by how many
	asked   atomic.Int64        // when a packet was last let through while it is missing, in ns of Unix time, or 0
	// confirm asks for one packet by a socket: the kernel uses the neighbour too seldom to notice that it is gone.
	confirm atomic.Bool

	// Of the goroutine.
	neighbour hopKey // not valid where there is none
	draft     Hop    // without the neighbour's address
}

// hopKey names a neighbour.
type hopKey struct {
	index int
	addr  netip.Addr
}

// neighbour is what the kernel tells of one.
type neighbour struct {
	hopKey
	mac   [6]byte
	state int // NUD_, 0: there is none
}

// look asks the kernel for the way to dst.
func (t *Hops) look(dst netip.Addr, d *destination) {
	r, l, err := t.way(dst)
	if err != nil || r.Type != Unicast || !l.ethernet || !l.neighbours {
		t.lead(d, hopKey{})
		d.hop.Store(nil)
		d.missing.Store(false)
		return
	}
	t.lead(d, hopKey{r.Index, r.NextHop().WithZone("")})
	d.draft = Hop{Index: r.Index, MTU: min(r.MTU, l.mtu), Src: l.mac}
	n := neighbour{hopKey: d.neighbour}
	if e, err := t.kernel.entry(&r); err == nil {
		n.setEntry(&e)
	}
	d.hear(n)
}

// lead makes n the neighbour of d. One that is not valid stands for none.
func (t *Hops) lead(d *destination, n hopKey) {
	if d.neighbour == n {
		return
	}
	if old := t.via[d.neighbour]; old != nil {
		if delete(old, d); len(old) == 0 {
			delete(t.via, d.neighbour)
		}
	}
	d.neighbour = n
	if !n.addr.IsValid() {
		return
	}
	if t.via[n] == nil {
		t.via[n] = make(map[*destination]struct{})
	}
	t.via[n][d] = struct{}{}
}

// way is the route to dst, and its interface.
func (t *Hops) way(dst netip.Addr) (Route, link, error) {
	var out link
	if needsZone(dst) {
		zone := dst.Zone()
		if zone == "" {
			zone = t.src.Zone()
		}
		var err error
		if out, err = linkOfZone(t.kernel, zone); err != nil {
			return Route{}, link{}, err
		}
	}
	return look(t.kernel, dst, t.src, out)
}

// hear takes in what has become of a neighbour.
func (t *Hops) hear(n neighbour) {
	for d := range t.via[n.hopKey] {
		d.hear(n)
	}
}

func (d *destination) hear(n neighbour) {
	if n.state&known == 0 {
		if !d.missing.Swap(true) {
			d.asked.Store(0)
		}
		d.hop.Store(nil)
		return
	}
	d.missing.Store(false)
	d.confirm.Store(n.state&netlink.NUD_STALE != 0)
	hop := d.draft
	hop.Dst = n.mac
	if was := d.hop.Load(); was == nil || *was != hop {
		d.hop.Store(&hop)
	}
}

// setEntry reads an entry of the kernel's table. One without an Ethernet address counts as none.
func (n *neighbour) setEntry(e *netlink.Neigh) {
	if len(e.HardwareAddr) == len(n.mac) {
		n.state = e.State
		copy(n.mac[:], e.HardwareAddr)
	}
}
