package verbs

import (
	"iter"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/cm"
)

// CMInfo is what [Device.CMs] tells of a connection of the connection manager, or of a request
// for a datagram queue pair.
type CMInfo struct {
	LocalID, RemoteID uint32 // communication IDs; RemoteID is 0 while it is not known
	State             string // as Linux names it, such as "ESTABLISHED"
	PortSpace         PortSpace
	Local, Remote     netip.AddrPort // port 0 where it is not known
	QPN, RemoteQPN    QPN            // 0 while they are not known
	Age               time.Duration
}

// CMs describes what the connection manager has, in the order in which it came to be: also what
// is being made, and what has just ended and rests. All are of one moment.
func (d *Device) CMs() iter.Seq[CMInfo] {
	return func(yield func(CMInfo) bool) {
		g := d.connections.running()
		if g == nil {
			return
		}
		local := map[int]netip.Addr{}
		for _, e := range d.GIDs() {
			local[e.Index] = e.Addr
		}
		list, now := g.Conns(), g.Now()
		for i := range list {
			if !yield(cmInfo(&list[i], local[int(list[i].Peer.SGIDIndex)], now)) {
				return
			}
		}
	}
}

func cmInfo(c *cm.ConnInfo, local netip.Addr, now cm.Time) CMInfo {
	ps, port, _ := c.Service.IP()
	here, there := port, c.SourcePort
	if c.Active {
		here, there = there, here
	}
	remote := c.Peer.GID.Addr()
	return CMInfo{
		LocalID: uint32(c.ID), RemoteID: uint32(c.RemoteID), State: c.State.String(), PortSpace: ps,
		Local: netip.AddrPortFrom(local, here), Remote: netip.AddrPortFrom(remote.WithZone(zoneFor(remote, local)), there),
		QPN: c.QPN, RemoteQPN: c.PeerQPN, Age: time.Duration(now - c.Since),
	}
}
