package nic

import (
	"cmp"
	"net/netip"
	"slices"
)

// admission holds the addresses of the hosts that may talk to a device: ranges in ascending order,
// disjoint, so that a look-up is a binary search. An empty admission is all hosts.
type admission []addressRange

type addressRange struct{ first, last netip.Addr }

func newAdmission(peers []netip.Prefix) (a admission) {
	for _, p := range peers {
		a = append(a, addressRange{p.Masked().Addr(), lastOf(p)})
	}
	slices.SortFunc(a, func(x, y addressRange) int {
		return cmp.Or(x.first.Compare(y.first), y.last.Compare(x.last)) // the longer first
	})
	merged := a[:0]
	for _, r := range a {
		// Two prefixes are apart, or one holds the other.
		if n := len(merged); n == 0 || merged[n-1].last.Less(r.first) {
			merged = append(merged, r)
		}
	}
	return merged
}

// lastOf returns the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// has reports whether a host may talk to the device.
func (a admission) has(host netip.Addr) bool { return len(a) == 0 || a.holds(host) }

func (a admission) holds(host netip.Addr) bool {
	host = host.Unmap().WithZone("")
	i, found := slices.BinarySearchFunc(a, host, func(r addressRange, h netip.Addr) int { return r.first.Compare(h) })
	return found || i > 0 && !a[i-1].last.Less(host)
}

// Admits is true for a host that may talk to the device. Packets of others are dropped
// before anything is computed for them, except those to QP1: the connection manager has an
// answer for them. No connection leads to them.
func (d *Device) Admits(peer netip.Addr) bool { return d.peers.has(peer) }

// A gate decides whose datagrams queue pair 1 takes when it is short of receives. Up to half of
// them go to whoever comes first; of the rest a sender gets what is missing to its share, which
// is that half by the number of senders. So one that sends more than the connection manager can
// read loses its own messages and not those of others. The shard's lock guards it.
type gate struct {
	half    int
	waiting int                // datagrams that were taken and not read yet
	of      map[netip.Addr]int // of them, by sender; none of 0
}

func newGate(receives int) *gate { return &gate{half: max(receives/2, 1), of: map[netip.Addr]int{}} }

// admits is true for a sender that may have one more.
func (g *gate) admits(src netip.Addr) bool {
	if g.waiting < g.half {
		return true
	}
	return g.of[src] < max(g.half/len(g.of), 1)
}

func (g *gate) enter(src netip.Addr) {
	g.waiting++
	g.of[src]++
}

func (g *gate) leave(src netip.Addr) {
	n := g.of[src]
	if n == 0 {
		return
	}
	g.waiting--
	if g.of[src] = n - 1; n == 1 {
		delete(g.of, src)
	}
}

// ShareReceives lets each sender have at most half of the free receives of a datagram queue pair, which has that many of them. The
// owner says with ReceivesRead when they are free again.
func (q *QP) ShareReceives(receives int) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.gate = newGate(receives)
}

// ReceivesRead says that a datagram of each of the senders has been read, so that they may send as many more.
func (q *QP) ReceivesRead(senders []netip.Addr) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	for _, src := range senders {
		q.gate.leave(src)
	}
}
