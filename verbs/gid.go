package verbs

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/gorxe/gorxe/qp"
)

// GIDEntry is one entry of a device's GID table.
type GIDEntry struct {
	Index  int
	GID    GID
	Addr   netip.Addr // the same as an IP address, with the zone of a link-local one
	Type   string     // "RoCE v2"
	NetDev string     // network interface, "" where the link has none
	Link   string     // kind of link, such as "udp" or "pipe"
	MTU    MTU        // largest path MTU
	Detail string     // what else there is to know of the link, "" for most
}

// GIDs returns the entries of the GID table whose addresses the device has now, by index.
//
// With [Config.Follow] addresses come and go; each time there is an [EventGIDChange]. An index
// stays what it is while its address is away: what is connected over it goes on when the
// address comes back before its retries are spent, and ends with RETRY_EXC_ERR otherwise;
// datagrams are lost; nothing else can be connected over it meanwhile. When all 256 indices are
// taken, the one whose address went first is given to another, if no queue pair and no address
// handle has to do with it. An MTU that changes is that of what is connected from then on.
func (d *Device) GIDs() []GIDEntry {
	var out []GIDEntry
	netdev := d.NetDev()
	for _, g := range d.nic.GIDs() {
		out = append(out, GIDEntry{
			Index: g.Index, GID: qp.GIDFromAddr(g.Addr), Addr: g.Addr, Type: "RoCE v2",
			NetDev: netdev, Link: g.Caps.Name, MTU: g.MTU, Detail: g.Caps.Detail,
		})
	}
	return out
}

// GID returns the entry at index. The error lists what there is.
func (d *Device) GID(index int) (GIDEntry, error) {
	gids := d.GIDs()
	for _, g := range gids {
		if g.Index == index {
			return g, nil
		}
	}
	return GIDEntry{}, fmt.Errorf("%s has no GID with index %d: it has %s", d.name, index, listGIDs(gids))
}

// gidOf is the GID of an address, whose zone it does not have.
func gidOf(a netip.Addr) GID { return qp.GIDFromAddr(a.WithZone("")) }

// gidIndex finds the entry of a GID.
func (d *Device) gidIndex(gid GID) (int, error) {
	gids := d.GIDs()
	for _, g := range gids {
		if g.GID == gid {
			return g.Index, nil
		}
	}
	return 0, fmt.Errorf("%v is not a GID of %s: it has %s", gid, d.name, listGIDs(gids))
}

func listGIDs(gids []GIDEntry) string {
	if len(gids) == 0 {
		return "none"
	}
	var list []string
	for _, g := range gids {
		list = append(list, fmt.Sprintf("%d (%v)", g.Index, g.GID))
	}
	return strings.Join(list, ", ")
}
