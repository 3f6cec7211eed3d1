package nic

import (
	"net"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// An unheardLink delivers nothing to blocking receives: only polling receives get frames.
type unheardLink struct {
	packet.Link
	packet.Shared
	closed chan struct{}
}

func unheard(l packet.Link) *unheardLink {
	return &unheardLink{l, l.(packet.Shared), make(chan struct{})}
}

func (l *unheardLink) RecvLocked(*packet.RecvBatch, *sync.Mutex) error {
	<-l.closed
	return net.ErrClosed
}

func (l *unheardLink) Close() error {
	close(l.closed)
	return l.Link.Close()
}

// polled polls up to n times, until there is a completion.
func (e *end) polled(n int) bool {
	e.t.Helper()
	var wc [1]qp.WC
	for range n {
		if e.cq.Poll(wc[:]) == 1 {
			if wc[0].Status != qp.WCSuccess {
				e.t.Errorf("completion with %v", wc[0].Status)
			}
			return true
		}
	}
	return false
}

func TestWhoPollsNeedsNoReceivingGoroutine(t *testing.T) {
	a, b := newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link { return unheard(l) })
	defer closeAll(t, a, b)
	wrs := []*qp.SendWR{a.write(b, 1, 0, 64)}
	exchange := func() {
		if _, err := a.qp.PostSend(wrs); err != nil {
			t.Fatal(err)
		}
		if a.polled(1) {
			t.Fatal("a completion before the peer has seen the request")
		}
		b.polled(1) // the peer's poll serves the request, which has no completion there
		if !a.polled(1) {
			t.Fatal("no completion")
		}
	}
	exchange()
	if n := testing.AllocsPerRun(100, exchange); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestPollingLooksAtEveryLinkAndMostAtTheBusyOne(t *testing.T) {
	n := pipe.NewNet()
	d := openDevice(t, 1, openLink(t, n, addrA), openLink(t, n, addrB))
	defer d.Close()
	first, second := d.pollable.all()[0], d.pollable.all()[1]
	var p poller
	looks := func() map[*inbox]int {
		out := map[*inbox]int{}
		for range 4 * otherTurns {
			out[p.next(d.pollable.all())]++
		}
		return out
	}
	if got := looks(); got[first] != 2*otherTurns || got[second] != 2*otherTurns {
		t.Errorf("without traffic: %d and %d looks at two links, want as many at each", got[first], got[second])
	}
	p.lastActive.Store(second)
	if got := looks(); got[first] != 2 || got[second] != 4*otherTurns-2 {
		t.Errorf("with traffic on the second: %d and %d looks, want 2 and the rest", got[first], got[second])
	}
	if err := d.RemoveLink(second.index); err != nil {
		t.Fatal(err)
	}
	if d.drive(&p) != nil {
		t.Error("a batch from a link that was removed")
	}
	if got := looks(); got[first] != 4*otherTurns {
		t.Errorf("after it was removed: %d looks at the other, want all of %d", got[first], 4*otherTurns)
	}
	if err := d.RemoveLink(first.index); err != nil {
		t.Fatal(err)
	}
	if d.drive(&p) != nil {
		t.Error("a batch from a device without links")
	}
}

func TestPollDoesNotWaitForWhoReceives(t *testing.T) {
	a, b := newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link { return unheard(l) })
	defer closeAll(t, a, b)
	if _, err := a.qp.PostSend([]*qp.SendWR{a.write(b, 1, 0, 64)}); err != nil {
		t.Fatal(err)
	}
	b.polled(1)
	in := a.dev.pollable.all()[0]
	in.mu.Lock()
	if a.polled(1) {
		t.Error("a completion while another deals with the link")
	}
	in.mu.Unlock()
	if !a.polled(1) {
		t.Error("no completion")
	}
}
