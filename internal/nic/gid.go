package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"weak"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// gid is an entry of the GID table: an address, and the link it sends from while the host has
// the address. Which address it is does not change: an entry that another address gets is
// another gid.
type gid struct {
	index int
	local netip.Addr // without zone
	zone  string     // of a link-local address
	most  qp.MTU     // largest path MTU that the device offers, 0 for any

	// Changed with Device.linking, all shards' locks and Device.table held, read with any of them.
	link   packet.Link    // nil while the address is away
	queues []packet.Queue // of link, one for each shard, or nil
	wire   *wire          // of link
	caps   packet.Caps    // of link, or of the last one
	mtu    qp.MTU         // largest path MTU, likewise
	away   error          // says that the address is away
	went   uint64         // when it went: later is larger

	// Guarded by Device.table.
	lease *lease // nil while the address is away
	lent  weak.Pointer[lease]
}

// lease is what the address handles of an entry hold on to, and the entry itself while its
// address is there. Nobody says when a handle is no longer needed, so it is the garbage
// collector that tells when an address that is away has none left.
type lease struct{ of *gid }

// newGID makes the entry of a link; the index is not known yet. No path MTU is above most, if
// that is not 0.
func newGID(l packet.Link, most qp.MTU, shards int) (*gid, error) {
	local, caps := l.Local(), l.Caps()
	if !local.IsValid() {
		return nil, fmt.Errorf("the link (%s) has no local address", caps.Name)
	}
	g := &gid{link: l, caps: caps, most: most, local: local.WithZone("").Unmap(), zone: local.Zone()}
	var err error
	if g.mtu, err = g.pathMTU(caps); err != nil || shards == 1 {
		return g, err
	}
	g.queues, err = packet.Split(l, shards)
	if errors.Is(err, errors.ErrUnsupported) {
		return g, nil
	}
	return g, err
}

// pathMTU is the largest path MTU of a link with these capabilities.
func (g *gid) pathMTU(caps packet.Caps) (qp.MTU, error) {
	mtu := qp.MTUForLink(caps.MTU)
	if !mtu.Valid() {
		return 0, fmt.Errorf("the MTU of %v is %d bytes: RoCE needs at least %d", g.addr(), caps.MTU, smallestMTU)
	}
	if g.most > 0 {
		mtu = min(mtu, g.most)
	}
	return mtu, nil
}

// addr is the address with its zone.
func (g *gid) addr() netip.Addr { return g.local.WithZone(g.zone) }

// free is true when the address of g is away and nothing counts on its coming back. All shards'
// locks and table are held.
func (d *Device) free(g *gid) bool {
	for _, s := range d.shards {
		if s.out[g.index].used() || d.loopback && s.loops[g.index].used() {
			return false
		}
	}
	return g.link == nil && g.lent.Value() == nil
}

// hold returns the lease of an entry whose address is there. Device.table is held.
func (g *gid) hold() *lease {
	if g.lease == nil {
		if g.lease = g.lent.Value(); g.lease == nil {
			g.lease = &lease{of: g}
			g.lent = weak.Make(g.lease)
		}
	}
	return g.lease
}

// maxGIDs is how many entries ibv_ah_attr's index has names for.
const maxGIDs = 256

// smallestMTU is the least MTU of a network device that carries the least path MTU.
const smallestMTU = int(qp.MinMTU) + 80

// place returns the index for g in the table: the one that its address had before, the next
// that nobody has had, or, once there is none, the one of the address that is away for longest
// with nothing that uses it. linking, all shards' locks and table are held.
func (d *Device) place(g *gid) (index int, err error) {
	oldest := -1
	for i, old := range d.gids {
		switch {
		case old.addr() == g.addr() && old.link == nil:
			return i, nil
		case old.addr() == g.addr():
			err = fmt.Errorf("%v is GID %d of the device already", g.addr(), i)
		case d.free(old) && (oldest < 0 || old.went < d.gids[oldest].went):
			oldest = i
		}
	}
	switch {
	case err != nil:
		return 0, err
	case len(d.gids) < maxGIDs:
		return len(d.gids), nil
	case oldest < 0:
		return 0, fmt.Errorf("no room for %v: all %d entries of the GID table are addresses of the device, or of queue pairs and address handles whose addresses may come back", g.addr(), maxGIDs)
	}
	return oldest, nil
}

// gidAt returns the entry with the given index, whose address is there. A shard's lock or table
// is held.
func (d *Device) gidAt(index int) (*gid, error) {
	if index < 0 || index >= len(d.gids) {
		return nil, fmt.Errorf("there is no GID with index %d: the device has %s", index, d.gidList())
	}
	g := d.gids[index]
	if g.link == nil {
		return nil, fmt.Errorf("%w: the device has %s", g.away, d.gidList())
	}
	return g, nil
}

// errAway says that an address of the GID table is not there.
var errAway = errors.New("is away: this host does not have the address now")

// leave takes note that the address went. All locks are held that changes of the table take.
func (g *gid) leave(when uint64) {
	g.link, g.queues, g.wire, g.lease, g.went = nil, nil, nil, nil, when
	g.away = fmt.Errorf("GID %d (%v) %w", g.index, g.addr(), errAway)
}

// gidList names the addresses that are there. A shard's lock or table is held.
func (d *Device) gidList() string {
	var list []string
	for _, g := range d.gids {
		if g.link != nil {
			list = append(list, fmt.Sprintf("%d (%v)", g.index, g.local))
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// GID describes one entry of the GID table.
type GID struct {
	Index int
	Addr  netip.Addr // with the zone of a link-local address
	Caps  packet.Caps
	MTU   qp.MTU // largest path MTU
}

// GIDs returns the entries of the GID table whose addresses are there, by index. No shard is waited
// for.
func (d *Device) GIDs() []GID {
	d.table.RLock()
	defer d.table.RUnlock()
	out := make([]GID, 0, len(d.gids))
	for _, g := range d.gids {
		if g.link != nil {
			out = append(out, GID{Index: g.index, Addr: g.addr(), Caps: g.caps, MTU: g.mtu})
		}
	}
	return out
}

// GIDTableLen is one more than the largest index that an address has or had.
func (d *Device) GIDTableLen() int {
	d.table.RLock()
	defer d.table.RUnlock()
	return len(d.gids)
}
