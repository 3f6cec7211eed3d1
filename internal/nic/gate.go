package nic

import "net/netip"

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
