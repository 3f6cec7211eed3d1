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
	Addr   netip.Addr // IP address of the GID, with the zone of a link-local address
	Type   string     // "RoCE v2"
	NetDev string     // network interface, "" if the link has none
	Link   string     // kind of link, such as "udp" or "pipe"
	MTU    MTU        // maximum path MTU
	Detail string     // details of the link, "" for most
}

// GIDs returns the entries of the GID table whose addresses the device has now, by index.
//
// With [Config.Follow], addresses come and go; each change raises an [EventGIDChange]. An address
// keeps its index while it is absent. Connections over an absent address continue if the address
// returns before their retries are exhausted, and otherwise end with RETRY_EXC_ERR; its datagrams
// are lost, and new connections fail. When all 256 indices are in use, the one whose address has
// been absent longest is reused, if no queue pair and no address handle uses it. A changed MTU
// applies to later connections.
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

// GID returns the entry at index. The error lists the entries that exist.
func (d *Device) GID(index int) (GIDEntry, error) {
	gids := d.GIDs()
	for _, g := range gids {
		if g.Index == index {
			return g, nil
		}
	}
	return GIDEntry{}, fmt.Errorf("%s has no GID with index %d: it has %s", d.name, index, listGIDs(gids))
}

// gidOf returns the GID of an address, without its zone.
func gidOf(a netip.Addr) GID { return qp.GIDFromAddr(a.WithZone("")) }

// gidIndex returns the index of a GID.
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
