package nic

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

var (
	group4 = netip.MustParseAddr("239.1.2.3")
	group6 = netip.MustParseAddr("ff0e::7")
)

// member attaches q to a group and posts receives of 100 bytes on it, 10 from slot on.
func (e *end) member(q *QP, group netip.Addr, slot int) {
	e.t.Helper()
	if err := q.AttachMulticast(qp.GIDFromAddr(group)); err != nil {
		e.t.Fatal(err)
	}
	for i := range 10 {
		wr := &qp.RecvWR{ID: uint64(slot + i), SGList: e.sge(100*(slot+i), 100)}
		if _, err := q.PostRecv([]*qp.RecvWR{wr}); err != nil {
			e.t.Fatal(err)
		}
	}
}

// took returns the number of datagrams that each queue pair has received since the last call.
func (e *end) took() map[bth.QPN]int {
	e.t.Helper()
	out := map[bth.QPN]int{}
	wc := make([]qp.WC, 100)
	for _, wc := range wc[:e.cq.Poll(wc)] {
		if wc.Status != qp.WCSuccess {
			e.t.Errorf("%+v", wc)
		}
		if wc.Opcode.IsRecv() {
			out[wc.QPN]++
		}
	}
	return out
}

func TestMulticastReachesEveryMember(t *testing.T) {
	for _, c := range []struct {
		name        string
		a, b, group netip.Addr
	}{{"IPv4", addrA, addrB, group4}, {"IPv6", addrA6, addrB6, group6}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := pipe.NewNet()
				n.HideHeader = true
				a, b := newDatagramEnd(t, 1, openLink(t, n, c.a)), newDatagramEnd(t, 2, openLink(t, n, c.b))
				defer closeAll(t, a, b)
				second, other := b.newDatagramQP(testQKey), a.newDatagramQP(testQKey)
				stranger := b.newDatagramQP(testQKey + 1)
				a.member(a.qp, c.group, 0)
				a.member(other, c.group, 10)
				b.member(b.qp, c.group, 0)
				b.member(second, c.group, 10)
				b.member(stranger, c.group, 20)
				// Attaching again does nothing.
				if err := b.qp.AttachMulticast(qp.GIDFromAddr(c.group)); err != nil {
					t.Error(err)
				}
				a.post(a.datagram(1, a.ah(0, c.group), bth.MulticastQPN, 0, 20))
				synctest.Wait()
				if d := cmp.Diff(map[bth.QPN]int{b.qp.Num(): 1, second.Num(): 1}, b.took()); d != "" {
					t.Errorf("received by b (-want +got):\n%s", d)
				}
				// The sender does not receive its own datagram.
				if d := cmp.Diff(map[bth.QPN]int{other.Num(): 1}, a.took()); d != "" {
					t.Errorf("received by a (-want +got):\n%s", d)
				}
				if src, dst, _, err := (*transport.GRH)(b.buf).Origin(); err != nil || src != c.a || dst != c.group {
					t.Errorf("Origin = %v, %v, %v", src, dst, err)
				}
				av, err := b.dev.ReplyVector((*transport.GRH)(b.buf))
				if err != nil || av.DGID != qp.GIDFromAddr(c.a) || av.SGIDIndex != 0 {
					t.Errorf("ReplyVector = %+v, %v", av, err)
				}
				if d := cmp.Diff(map[string]uint64{"own_multicast": 1}, a.drops()); d != "" ||
					b.counter("verdict_bad_q_key") != 1 || len(b.drops()) > 0 {
					t.Errorf("drops of a (-want +got):\n%s; of b: %v", d, b.drops())
				}
			})
		})
	}
}

func TestMembersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
		defer closeAll(t, a, b)
		second, gid, ah := b.newDatagramQP(testQKey), qp.GIDFromAddr(group4), a.ah(0, group4)
		b.member(b.qp, group4, 0)
		b.member(second, group4, 10)
		for i, step := range []struct {
			do   func() error
			want map[bth.QPN]int
			lost uint64
		}{
			{func() error { return nil }, map[bth.QPN]int{b.qp.Num(): 1, second.Num(): 1}, 0},
			{func() error { return b.qp.DetachMulticast(gid) }, map[bth.QPN]int{second.Num(): 1}, 0},
			{func() error { second.Close(); return nil }, map[bth.QPN]int{}, 1},
			{func() error { return b.qp.AttachMulticast(gid) }, map[bth.QPN]int{b.qp.Num(): 1}, 1},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			a.post(a.datagram(1, ah, bth.MulticastQPN, 0, 20))
			synctest.Wait()
			if d := cmp.Diff(step.want, b.took()); d != "" || n.Undelivered() != step.lost {
				t.Errorf("step %d: %d lost, received (-want +got):\n%s", i, n.Undelivered(), d)
			}
		}
		// Leaving a group is not a failure of the device.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := b.dev.Event(ctx); err == nil {
			t.Errorf("event %+v", e)
		}
		if rx := b.counter("link_rx_calls"); rx != 3 {
			t.Errorf("%d calls received something, want 3", rx)
		}
	})
}

// All addresses of a device are those of one port: a group is joined once.
func TestADeviceWithSeveralAddressesGetsOneCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a := newDatagramEnd(t, 1, openLink(t, n, addrA))
		b := newDatagramEnd(t, 2, openLink(t, n, addrA6), openLink(t, n, addrB), openLink(t, n, addrC))
		defer closeAll(t, a, b)
		b.member(b.qp, group4, 0)
		a.post(a.datagram(1, a.ah(0, group4), bth.MulticastQPN, 0, 20))
		synctest.Wait()
		if got := b.took(); got[b.qp.Num()] != 1 {
			t.Errorf("received %v", got)
		}
	})
}

func TestHostileMulticasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, peer := newDatagramEnd(t, 1, openLink(t, n, addrA)), newRawPeer(t, n, addrB)
		defer peer.link.Close()
		defer closeAll(t, a)
		a.member(a.qp, group4, 0)
		good := bth.Packet{Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.MulticastQPN,
			DETH: bth.DETH{QKey: testQKey, SrcQP: a.qp.Num()}, Payload: []byte("datagram")}
		send := func(to netip.Addr, change func(*bth.Packet)) {
			p := good
			change(&p)
			peer.sendSealed(to, p.Append(nil))
		}
		send(group4, func(p *bth.Packet) { p.DestQP = a.qp.Num() })
		send(group4, func(p *bth.Packet) { p.Opcode = bth.RCSendOnly })
		send(group4, func(p *bth.Packet) { p.DETH.QKey++ })
		send(addrA, func(p *bth.Packet) {})
		peer.send(group4, append(good.Append(nil), 1, 2, 3, 4))
		synctest.Wait()
		if d := cmp.Diff(map[string]uint64{"unknown_qpn": 2, "bad_icrc": 1}, a.drops()); d != "" {
			t.Errorf("drops (-want +got):\n%s", d)
		}
		if a.counter("verdict_wrong_service") != 1 || a.counter("verdict_bad_q_key") != 1 || len(a.took()) > 0 {
			t.Error("something was taken or not counted")
		}
		// The source QPN alone does not make a datagram the receiver's own: its source address
		// counts.
		send(group4, func(*bth.Packet) {})
		synctest.Wait()
		if got := a.took()[a.qp.Num()]; got != 1 {
			t.Errorf("a good datagram was received %d times", got)
		}
	})
}

// noJoin is a link that cannot join groups.
type noJoin struct{ packet.Link }

func TestAttachSaysWhatIsWrong(t *testing.T) {
	n := pipe.NewNet()
	a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, noJoin{openLink(t, n, addrB)})
	defer closeAll(t, a, b)
	closed := a.newDatagramQP(1)
	closed.Close()
	for _, c := range []struct {
		q     *QP
		group netip.Addr
		want  string
	}{
		{a.newQP(), group4, "type RC"},
		{a.qp, addrB, "not the GID of a multicast group"},
		{a.qp, group6, "no address of the device is of the family of ff0e::7: it has 0 (192.0.2.1)"},
		{closed, group4, "closed"},
		{b.qp, group4, "cannot join"},
	} {
		if err := c.q.AttachMulticast(qp.GIDFromAddr(c.group)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("AttachMulticast(%v) = %v, want %q", c.group, err, c.want)
		}
	}
	if err := a.qp.DetachMulticast(qp.GIDFromAddr(group4)); err == nil ||
		!strings.Contains(err.Error(), "not attached") {
		t.Errorf("DetachMulticast = %v", err)
	}
	for i := range MaxAttached + 1 {
		err := a.newDatagramQP(1).AttachMulticast(qp.GIDFromAddr(group4))
		if full := i == MaxAttached; (err != nil) != full {
			t.Fatalf("queue pair %d of a group: %v", i, err)
		}
	}
}

// Attaching, detaching, closing and sending at the same time leaves nothing behind.
func TestMulticastUnderConcurrency(t *testing.T) {
	n := pipe.NewNet()
	a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 50 {
				q, err := b.dev.CreateQP(QPInit{Type: qp.UD, PD: b.pd, SendCQ: b.cq, RecvCQ: b.cq})
				if err != nil {
					t.Error(err)
					return
				}
				gid := qp.GIDFromAddr(netip.MustParseAddr(fmt.Sprintf("239.1.2.%d", (i+k)%3)))
				if err := q.AttachMulticast(gid); err != nil {
					t.Error(err)
				}
				if k%2 == 0 {
					if err := q.DetachMulticast(gid); err != nil {
						t.Error(err)
					}
				}
				q.Close()
			}
		})
	}
	ah := a.ah(0, netip.MustParseAddr("239.1.2.1"))
	for range 200 {
		a.post(a.datagram(1, ah, bth.MulticastQPN, 0, 20))
		a.succeed(1)
	}
	all.Wait()
	if len(b.dev.groups.joined) != 0 {
		t.Errorf("%d groups are left", len(b.dev.groups.joined))
	}
	before := n.Undelivered()
	a.post(a.datagram(1, ah, bth.MulticastQPN, 0, 20))
	if n.Undelivered() != before+1 {
		t.Error("the network still has a member")
	}
	closeAll(t, a, b)
}
