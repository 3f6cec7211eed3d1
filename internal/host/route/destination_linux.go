package route

import (
	"net/netip"
	"sync/atomic"

	"github.com/vishvananda/netlink"
)

// destination is the state of one destination.
type destination struct {
	addr    netip.Addr
	hop     atomic.Pointer[Hop] // next hop; nil if there is none or it is not known
	missing atomic.Bool         // the next hop is a neighbour without a link-layer address
	used    atomic.Bool         // find was called for it since the last sweep
	held    atomic.Bool         // held by Hold; Hops.held has the count
	// lastProvoked is the last time at which Due returned true since the neighbour became missing,
	// as Unix time in ns; 0: never.
	lastProvoked atomic.Int64
	// confirm makes To return nil once, so that the next packet is sent by a socket. Without this
	// the kernel would use the neighbour too rarely to notice that it is gone.
	confirm atomic.Bool

	// Only run uses these fields.
	neighbour hopKey // invalid if there is none
	draft     Hop    // next hop without the neighbour's link-layer address
}

// hopKey identifies a neighbour.
type hopKey struct {
	index int
	addr  netip.Addr
}

// neighbour is the kernel's state of a neighbour.
type neighbour struct {
	hopKey
	mac   [6]byte
	state int // NUD_ state; 0: there is no entry
}

// look queries the kernel for the route to dst and updates d.
func (t *Hops) look(dst netip.Addr, d *destination) {
	r, l, err := t.routeTo(dst)
	if err != nil || r.Type != Unicast || !l.ethernet || !l.neighbours {
		t.setNeighbour(d, hopKey{})
		d.hop.Store(nil)
		d.missing.Store(false)
		return
	}
	t.setNeighbour(d, hopKey{r.Index, r.NextHop().WithZone("")})
	d.draft = Hop{Index: r.Index, MTU: min(r.MTU, l.mtu), Src: l.mac}
	n := neighbour{hopKey: d.neighbour}
	if e, err := t.kernel.entry(&r); err == nil {
		n.setEntry(&e)
	}
	d.applyState(n)
}

// setNeighbour makes n the neighbour of d. If n.addr is not valid, d has no neighbour.
func (t *Hops) setNeighbour(d *destination, n hopKey) {
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

// routeTo returns the route to dst and its interface.
func (t *Hops) routeTo(dst netip.Addr) (Route, link, error) {
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

// applyState applies the state of a neighbour to all destinations whose next hop it is.
func (t *Hops) applyState(n neighbour) {
	for d := range t.via[n.hopKey] {
		d.applyState(n)
	}
}

func (d *destination) applyState(n neighbour) {
	if n.state&known == 0 {
		if !d.missing.Swap(true) {
			d.lastProvoked.Store(0)
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

// setEntry sets n from an entry of the kernel's table. An entry without an Ethernet address is
// treated as absent.
func (n *neighbour) setEntry(e *netlink.Neigh) {
	if len(e.HardwareAddr) == len(n.mac) {
		n.state = e.State
		copy(n.mac[:], e.HardwareAddr)
	}
}
