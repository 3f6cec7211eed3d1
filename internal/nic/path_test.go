package nic

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// holdingLink counts the holds of each destination and records the expected ones.
type holdingLink struct {
	packet.Link
	mu       sync.Mutex
	n        map[netip.Addr]int // guarded by mu
	expected []netip.Addr       // guarded by mu
}

func (l *holdingLink) ResolveSoon(dst netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = append(l.expected, dst)
}

func (l *holdingLink) Hold(dst netip.Addr)    { l.add(dst, 1) }
func (l *holdingLink) Release(dst netip.Addr) { l.add(dst, -1) }

func (l *holdingLink) add(dst netip.Addr, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == nil {
		l.n = map[netip.Addr]int{}
	}
	if l.n[dst] += n; l.n[dst] == 0 {
		delete(l.n, dst)
	}
}

func (l *holdingLink) mustHold(t *testing.T, when string, want map[netip.Addr]int) {
	t.Helper()
	synctest.Wait() // a completion can be polled before its packet is processed completely
	l.mu.Lock()
	defer l.mu.Unlock()
	if !maps.Equal(l.n, want) {
		t.Errorf("%s: %v are held, want %v", when, l.n, want)
	}
}

func TestALinkExpectsWhatIsConnectedToAndAddressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		link := &holdingLink{Link: openLink(t, n, addrA)}
		a := newEnd(t, 1, link, 64)
		defer closeAll(t, a)
		there := netip.MustParseAddr("192.0.2.7")
		a.connect(a.qp, addrB, 19, 0, usualRetry) // three calls of Modify
		if want := []netip.Addr{addrB}; !slices.Equal(link.expected, want) {
			t.Errorf("connected: %v are expected, want %v", link.expected, want)
		}
		if _, err := a.dev.CreateAH(a.pd, qp.AddressVector{DGID: qp.GIDFromAddr(there)}); err != nil {
			t.Fatal(err)
		}
		if want := []netip.Addr{addrB, there}; !slices.Equal(link.expected, want) {
			t.Errorf("addressed: %v are expected, want %v", link.expected, want)
		}
	})
}

// Requests for connections may have forged addresses: only packets from a peer to its queue pair
// show that it exists.
func TestALinkHoldsTheDestinationsOfQueuePairsWhosePeersWereHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		link := &holdingLink{Link: openLink(t, n, addrA)}
		a, b := newEnd(t, 1, link, 64), newEnd(t, 2, openLink(t, n, addrB), 64)
		defer closeAll(t, a, b)
		peer, second, other := b.newQP(), a.newQP(), a.newQP()
		a.connect(a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
		b.connect(b.qp, addrA, a.qp.Num(), a.psn, usualRetry)
		a.connect(second, addrB, peer.Num(), b.psn, usualRetry)
		b.connect(peer, addrA, second.Num(), a.psn, usualRetry)
		a.connect(other, netip.MustParseAddr("192.0.2.7"), 19, 0, usualRetry)
		link.mustHold(t, "when nothing was heard", nil)
		a.post(a.write(b, 1, 0, 8), a.write(b, 2, 0, 8))
		a.succeed(2)
		link.mustHold(t, "after the answers at one", map[netip.Addr]int{addrB: 1})
		if _, err := peer.PostSend([]*qp.SendWR{b.write(a, 3, 0, 8)}); err != nil {
			t.Fatal(err)
		}
		b.succeed(1)
		link.mustHold(t, "after a request at another", map[netip.Addr]int{addrB: 2})
		if err := second.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
			t.Fatal(err)
		}
		link.mustHold(t, "with that in ERR", map[netip.Addr]int{addrB: 2})
		if err := second.Modify(&qp.Attr{State: qp.RESET}, qp.AttrState); err != nil {
			t.Fatal(err)
		}
		link.mustHold(t, "with that in RESET", map[netip.Addr]int{addrB: 1})

		a.removeLink(0)
		again := &holdingLink{Link: openLink(t, n, addrA)}
		if _, err := a.dev.AddLink(again); err != nil {
			t.Fatal(err)
		}
		again.mustHold(t, "when the address is back", map[netip.Addr]int{addrB: 1})
		a.qp.Close()
		again.mustHold(t, "with none left", nil)
	})
}
