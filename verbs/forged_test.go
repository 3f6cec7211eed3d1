package verbs_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// say sends messages of a raw peer.
func say(t *testing.T, p *rawcm.Peer, messages ...*mad.Message) {
	t.Helper()
	for _, m := range messages {
		if err := p.Put(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
}

// hear waits for a message of the manager, which must be of the given kind.
func hear(t *testing.T, p *rawcm.Peer, a mad.Attribute) *mad.Message {
	t.Helper()
	var m mad.Message
	if err := p.Recv(&m); err != nil {
		t.Fatal(err)
	}
	if m.Attribute != a {
		t.Fatalf("the manager sends %v, want %v", m.Attribute, a)
	}
	return &m
}

// The owner of the address in a forged REQ gets at most six packets, each as long as the REQ,
// even though the server accepts it.
func TestAForgedRequestDrawsSixPacketsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, victim := rawPeer(t, "192.0.2.1", "192.0.2.66")
		l := b.ListenAt(verbs.PortSpaceTCP, 7)
		accepted := make(chan error, 1)
		go func() {
			r, err := l.Next(t.Context())
			if err == nil {
				_, err = r.Accept(t.Context(), b.QP, verbs.DefaultConnParam())
			}
			accepted <- err
		}()
		req := victim.REQ(1, 7)
		req.REQ.MaxCMRetries, req.REQ.LocalCMResponseTimeout = 15, 31
		say(t, victim, req)
		var got atomic.Uint64
		go func() {
			for m := (mad.Message{}); victim.Recv(&m) == nil; got.Add(1) {
			}
		}()
		if err := <-accepted; !errors.Is(err, verbs.ErrUnreachable) {
			t.Errorf("Accept = %v", err)
		}
		time.Sleep(10 * time.Minute)
		if n := got.Load(); n < 2 || n > 6 {
			t.Errorf("%d packets for one", n)
		}
		// Everything sent was a MAD, as the REQ was.
		sent := uint64(0)
		for name, n := range b.Device.Counters() {
			if strings.HasPrefix(name, "cm_tx_msgs_") {
				sent += n
			}
		}
		if sent != got.Load() {
			t.Errorf("%d messages were sent, the victim got %d", sent, got.Load())
		}
	})
}

// readAll is the time in which the connection manager reads a hundred messages.
const readAll = 20 * time.Millisecond

// The owner of an address in more forged REQs than may be half-open can still connect, even with
// a queue pair that the last of them names, and the program's resources for them are released.
func TestForgedRequestsUnderAnAddressDoNotKeepItsOwnerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const forged, bound = 1100, 1024
		b, victim := rawPeer(t, "192.0.2.1", "192.0.2.66")
		l := b.ListenAt(verbs.PortSpaceTCP, 7)
		var unreachable, other atomic.Uint64
		established := make(chan *verbs.Conn, 1)
		go func() {
			for {
				r, err := l.Next(t.Context())
				if err != nil {
					return
				}
				go func() {
					q, err := b.PD.CreateQP(verbs.QPInitAttr{SendCQ: b.CQ, Cap: verbs.QPCap{MaxSendWR: 1}})
					if err != nil {
						t.Error(err)
						return
					}
					c, err := r.Accept(t.Context(), q, verbs.DefaultConnParam())
					switch {
					case err == nil:
						established <- c
						return
					case errors.Is(err, verbs.ErrUnreachable):
						unreachable.Add(1)
					default:
						other.Add(1)
					}
					if err := q.Close(); err != nil {
						t.Error(err)
					}
				}()
			}
		}()
		const mine = forged + 1
		rep := make(chan mad.CommID, 1)
		var dreqs atomic.Uint64
		go func() {
			for m := (mad.Message{}); victim.Recv(&m) == nil; {
				switch {
				case m.Attribute == mad.AttrREP && m.REP.RemoteCommID == mine:
					rep <- m.REP.LocalCommID
				case m.Attribute == mad.AttrDREQ:
					dreqs.Add(1)
				}
			}
		}()
		for i := uint32(1); i <= forged; i++ {
			req := victim.REQ(i, 7)
			req.REQ.MaxCMRetries, req.REQ.LocalCMResponseTimeout = 15, 31
			say(t, victim, req)
			time.Sleep(readAll)
			synctest.Wait()
		}
		if n := unreachable.Load(); n != forged-bound || dreqs.Load() != n || other.Load() != 0 {
			t.Errorf("%d of %d requests were displaced, with %d DREQs, and %d have failed otherwise", n, forged,
				dreqs.Load(), other.Load())
		}
		req := victim.REQ(mine, 7)
		last := victim.REQ(forged, 7).REQ
		req.REQ.LocalQPN, req.REQ.LocalCAGUID = last.LocalQPN, last.LocalCAGUID
		say(t, victim, req)
		time.Sleep(readAll)
		synctest.Wait()
		select {
		case id := <-rep:
			say(t, victim, &mad.Message{Attribute: mad.AttrRTU, RTU: mad.RTU{LocalCommID: mine, RemoteCommID: id}})
		default:
			t.Fatalf("the owner of the address is not answered: %v", b.Device.Counters()["cm_verdict_half_open_peer"])
		}
		c := <-established
		time.Sleep(10 * time.Minute)
		select {
		case <-c.Done():
			t.Errorf("the connection has ended: %v", c.Err())
		default:
		}
		if n := b.Device.Counters()["cm_displaced"]; n != forged-bound+1 {
			t.Errorf("%d connections are counted as displaced, want %d", n, forged-bound+1)
		}
		if n := unreachable.Load(); n != forged {
			t.Errorf("%d of %d Accepts have returned", n, forged)
		}
		if n := len(slices.Collect(b.Device.QPs())); n != 3 {
			t.Errorf("%d queue pairs are left, want that of the connection, of the node and of the manager", n)
		}
	})
}

func TestARequestThatNamesAQueuePairElsewhereIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, peer := rawPeer(t, "192.0.2.1", "192.0.2.66")
		b.ListenAt(verbs.PortSpaceTCP, 7)
		req := peer.REQ(1, 7)
		req.REQ.Primary.LocalGID[15]++
		say(t, peer, req)
		if r := hear(t, peer, mad.AttrREJ); r.REJ.Reason != mad.RejectUnsupported {
			t.Errorf("refused for %v", r.REJ.Reason)
		}
		if n := b.Device.Counters()["cm_malformed_ip_sender"]; n != 1 {
			t.Errorf("%d requests are counted as ip_sender, want 1", n)
		}
	})
}

// A REQ with the queue pair of a connection is from an attacker that wants to end it, or from its
// peer after a restart. The peer itself tells which.
func TestARequestForAQueuePairInUseEndsTheConnectionOnlyIfThePeerHasLostIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, peer := rawPeer(t, "192.0.2.1", "192.0.2.66")
		l := b.ListenAt(verbs.PortSpaceTCP, 7)
		req := peer.REQ(1, 7)
		req.REQ.MaxCMRetries = 15
		conns := make(chan *verbs.Conn)
		more, _ := b.NewQP()
		queues := []*verbs.QP{b.QP, more}
		go func() {
			for _, q := range queues {
				r, err := l.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				c, err := r.Accept(t.Context(), q, verbs.DefaultConnParam())
				if err != nil {
					t.Error(err)
				}
				conns <- c
			}
		}()
		establish := func(req *mad.Message) (*verbs.Conn, mad.CommID) {
			say(t, peer, req)
			rep := hear(t, peer, mad.AttrREP).REP
			say(t, peer, &mad.Message{Attribute: mad.AttrRTU,
				RTU: mad.RTU{LocalCommID: req.REQ.LocalCommID, RemoteCommID: rep.LocalCommID}})
			return <-conns, rep.LocalCommID
		}
		c, id := establish(req)
		again := *req
		again.REQ.LocalCommID = 2
		for range 25 {
			for range 3 {
				say(t, peer, &again)
				d := hear(t, peer, mad.AttrDREQ).DREQ
				if d.RemoteQPN != 0 || d.LocalCommID != id || d.RemoteCommID != 1 {
					t.Fatalf("asked by %+v", d)
				}
			}
			say(t, peer, &again)
			if r := hear(t, peer, mad.AttrREJ).REJ; r.Reason != mad.RejectStaleConn || r.RemoteCommID != 2 {
				t.Fatalf("refused by %+v", r)
			}
		}
		time.Sleep(time.Hour)
		select {
		case <-c.Done():
			t.Fatalf("the connection has ended: %v", c.Err())
		default:
		}
		if b.QP.State() != verbs.RTS {
			t.Fatalf("the queue pair is in %v", b.QP.State())
		}
		if n := b.Device.Counters()["cm_verdict_suspect"]; n != 75 {
			t.Errorf("%d REQs had the peer asked, want 75 of 100", n)
		}
		// The peer has restarted. Only its answer to the probe tells.
		drep := mad.Message{Attribute: mad.AttrDREP, DREP: mad.DREP{LocalCommID: 1, RemoteCommID: id}}
		say(t, peer, &drep)
		say(t, peer, &again)
		drep.TransactionID = hear(t, peer, mad.AttrDREQ).TransactionID
		if b.QP.State() != verbs.RTS {
			t.Fatalf("a DREP that answers nothing has the queue pair in %v", b.QP.State())
		}
		say(t, peer, &drep)
		<-c.Done()
		if !errors.Is(c.Err(), verbs.ErrDisconnected) {
			t.Errorf("ended with %v", c.Err())
		}
		if c, _ := establish(&again); c == nil {
			t.Error("the peer cannot connect again")
		}
	})
}

// A listener at all addresses of its device reports its port in a form that can be parsed.
func TestAListenerKeepsItsPort(t *testing.T) {
	b := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64)
	for _, at := range []netip.AddrPort{
		netip.AddrPortFrom(netip.Addr{}, 0), netip.AddrPortFrom(netip.Addr{}, 700),
		netip.MustParseAddrPort("0.0.0.0:0"), netip.MustParseAddrPort("192.0.2.1:0"),
	} {
		l, err := b.Device.Listen(verbs.PortSpaceTCP, at, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := netip.ParseAddrPort(l.Addr().String())
		if err != nil || got != l.Addr() || got.Port() == 0 || at.Port() != 0 && got.Port() != at.Port() {
			t.Errorf("Listen(%v) is at %v, %v", at, l.Addr(), err)
		}
		if a := at.Addr(); a.IsValid() && a != got.Addr() || !a.IsValid() && !got.Addr().IsUnspecified() {
			t.Errorf("Listen(%v) is at %v", at, got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
