package engine

import (
	"maps"
	"net/netip"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// holdingLink counts by how many each destination is held.
type holdingLink struct {
	packet.Link
	mu sync.Mutex
	n  map[netip.Addr]int // guarded by mu
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if !maps.Equal(l.n, want) {
		t.Errorf("%s: %v are held, want %v", when, l.n, want)
	}
}

func TestALinkHoldsTheDestinationsOfConnectedQueuePairs(t *testing.T) {
	n := packet.NewPipeNet()
	link := &holdingLink{Link: openLink(t, n, addrA)}
	e := newEnd(t, 1, link, 64)
	defer closeAll(t, e)
	other := netip.MustParseAddr("192.0.2.7")
	link.mustHold(t, "at first", nil)
	e.connect(e.qp, addrB, 17, 0, usualRetry)
	second, third := e.newQP(), e.newQP()
	e.connect(second, addrB, 18, 0, usualRetry)
	e.connect(third, other, 19, 0, usualRetry)
	link.mustHold(t, "with three queue pairs", map[netip.Addr]int{addrB: 2, other: 1})
	if err := third.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
		t.Fatal(err)
	}
	link.mustHold(t, "with one in ERR", map[netip.Addr]int{addrB: 2, other: 1})
	if err := third.Modify(&qp.Attr{State: qp.RESET}, qp.AttrState); err != nil {
		t.Fatal(err)
	}
	link.mustHold(t, "with that in RESET", map[netip.Addr]int{addrB: 2})
	second.Close()
	link.mustHold(t, "with one destroyed", map[netip.Addr]int{addrB: 1})

	e.removeLink(0)
	again := &holdingLink{Link: openLink(t, n, addrA)}
	if _, err := e.dev.AddLink(again); err != nil {
		t.Fatal(err)
	}
	again.mustHold(t, "when the address is back", map[netip.Addr]int{addrB: 1})
	e.qp.Close()
	again.mustHold(t, "with none left", nil)
}
