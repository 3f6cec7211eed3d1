package nic

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// A group is joined by one link of its family at a time, if there is one; members stay attached
// when there is none.
func TestGroupsAreJoinedByALinkThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a := newDatagramEnd(t, 1, openLink(t, n, addrA))
		b := newDatagramEnd(t, 2, openLink(t, n, addrB), openLink(t, n, addrA6), openLink(t, n, addrC))
		defer closeAll(t, a, b)
		ah, second := a.ah(0, group4), b.newDatagramQP(testQKey)
		b.member(b.qp, group4, 0)
		both := map[bth.QPN]int{b.qp.Num(): 1, second.Num(): 1}
		for _, c := range []struct {
			step string
			do   func()
			want map[bth.QPN]int
			lost uint64 // on the network, because no host has joined
		}{
			{"joined by the first", func() {}, map[bth.QPN]int{b.qp.Num(): 1}, 0},
			{"another link of the family", func() { b.removeLink(0) }, map[bth.QPN]int{b.qp.Num(): 1}, 0},
			{"the other family only", func() { b.removeLink(2) }, map[bth.QPN]int{}, 1},
			{"attached to a group that waits", func() { b.member(second, group4, 10) }, map[bth.QPN]int{}, 1},
			{"joined by the first that comes", func() { b.addLink(openLink(t, n, addrB)) }, both, 0},
			{"and once", func() { b.addLink(openLink(t, n, addrC)) }, both, 0},
			{"whichever goes", func() { b.removeLink(2) }, both, 0},
			{"detached", func() {
				if err := second.DetachMulticast(qp.GIDFromAddr(group4)); err != nil {
					t.Fatal(err)
				}
			}, map[bth.QPN]int{b.qp.Num(): 1}, 0},
			{"none again", func() { b.removeLink(0) }, map[bth.QPN]int{}, 1},
			{"nobody is a member when a link comes", func() { b.qp.Close(); b.addLink(openLink(t, n, addrB)) },
				map[bth.QPN]int{}, 1},
		} {
			c.do()
			before := n.Undelivered()
			a.post(a.datagram(1, ah, bth.MulticastQPN, 0, 20))
			synctest.Wait()
			if d := cmp.Diff(c.want, b.took()); d != "" || n.Undelivered()-before != c.lost {
				t.Errorf("%s: %d lost, want %d; received (-want +got):\n%s", c.step, n.Undelivered()-before, c.lost, d)
			}
		}
		if len(b.dev.groups.joined) != 0 {
			t.Error("a group without members is left")
		}
	})
}

func TestAGroupThatNoLinkCanJoinWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
		defer closeAll(t, a, b)
		var log bytes.Buffer
		b.dev.log = slog.New(slog.NewTextHandler(&log, nil))
		b.member(b.qp, group4, 0)
		b.removeLink(0)
		b.addLink(noJoin{openLink(t, n, addrB)})
		if text := log.String(); !strings.Contains(text, "cannot join") || !strings.Contains(text, "groups=1") {
			t.Errorf("logged is %q, which does not say that the link cannot join", text)
		}
		b.addLink(openLink(t, n, addrC))
		a.post(a.datagram(1, a.ah(0, group4), bth.MulticastQPN, 0, 20))
		synctest.Wait()
		if got := b.took()[b.qp.Num()]; got != 1 {
			t.Errorf("received %d times by the link that can join, want once", got)
		}
		if got := b.counter("link_rx_calls"); got != 1 {
			t.Errorf("%d calls received something, want 1", got)
		}
	})
}

func TestCountsOfPartedMembershipsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
		defer closeAll(t, a, b)
		b.member(b.qp, group4, 0)
		a.post(a.datagram(1, a.ah(0, group4), bth.MulticastQPN, 0, 20))
		synctest.Wait()
		b.removeLink(0)
		if got := b.counter("link_rx_calls"); got != 1 {
			t.Errorf("link_rx_calls is %d, want the 1 of the membership that is over", got)
		}
	})
}
