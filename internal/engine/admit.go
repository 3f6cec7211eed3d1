package engine

import "net/netip"

// Admits is true for a host that may talk to the device. Packets of others are dropped
// before anything is computed for them, except those to QP1: the connection manager has an
// answer for them. No connection leads to them.
func (d *Device) Admits(peer netip.Addr) bool {
	for _, p := range d.peers {
		if p.Contains(peer.Unmap().WithZone("")) {
			return true
		}
	}
	return len(d.peers) == 0
}
