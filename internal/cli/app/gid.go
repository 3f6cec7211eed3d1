package app

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/verbs"
)

// PickGID returns the entry at index. For a negative index it returns the entry that perftest
// would select: the first IPv4 entry, else the first that is not link-local, else the first.
func PickGID(dev *verbs.Device, index int, flag string) (verbs.GIDEntry, error) {
	if index >= 0 {
		g, err := dev.GID(index)
		if err != nil {
			err = fmt.Errorf("%w; choose one with %s", err, flag)
		}
		return g, err
	}
	gids := dev.GIDs()
	best := 0
	for i, g := range gids {
		if gidRank(g.Addr) > gidRank(gids[best].Addr) {
			best = i
		}
	}
	return gids[best], nil
}

func gidRank(a netip.Addr) int {
	switch {
	case a.Is4():
		return 2
	case !a.IsLinkLocalUnicast():
		return 1
	}
	return 0
}

// CheckMTU rejects an invalid path MTU. 0 is valid: it selects the largest.
func CheckMTU(requested int) error {
	if requested != 0 && !verbs.MTU(requested).Valid() {
		return Usagef("path MTU %d: choose 256, 512, 1024, 2048 or 4096 with -m", requested)
	}
	return nil
}

// PathMTU returns the path MTU to use at g: requested, or the largest possible one for 0.
func PathMTU(requested int, g verbs.GIDEntry) (verbs.MTU, error) {
	m := verbs.MTU(requested)
	switch {
	case requested == 0:
		return g.MTU, nil
	case m > g.MTU:
		where := g.NetDev
		if where == "" {
			where = g.Addr.String()
		}
		return 0, fmt.Errorf("path MTU %d is too large for %s, whose packets carry %d: use -m %d, or give the interface an MTU of %d or more",
			m, where, g.MTU, g.MTU, int(m)+mtuOverhead)
	}
	return m, nil
}

// mtuOverhead is the part of an interface's MTU in bytes that Linux rxe, and so gorxe, reserves
// for headers when it selects the path MTU.
const mtuOverhead = 80

// sameFamily reports whether two GIDs are both IPv4 or both IPv6. Otherwise there is no path
// between them.
func sameFamily(a, b verbs.GID) bool { return a.Addr().Is4() == b.Addr().Is4() }

// CheckPeerGID rejects a peer that cannot be reached from g.
func CheckPeerGID(g verbs.GIDEntry, peer verbs.GID, flag string) error {
	switch {
	case peer.IsZero():
		return fmt.Errorf("the peer has no GID: give it a GID index (%s)", flag)
	case !sameFamily(g.GID, peer):
		return fmt.Errorf("this end's GID is %v and the peer's is %v: choose two of the same IP version with %s",
			g.GID, peer, flag)
	}
	return nil
}
