package nic

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

var gidChange = AsyncEvent{Type: qp.EventGIDChange, Port: 1}

// A strictLink must not be used after it is closed; it counts the goroutines that wait in Recv.
type strictLink struct {
	packet.Link
	t         testing.TB
	closed    atomic.Bool
	receivers atomic.Int32
	fading    atomic.Bool
	left      atomic.Int32
}

// fade lets the given number of batches be sent; later ones are lost.
func (l *strictLink) fade(batches int32) {
	l.left.Store(batches)
	l.fading.Store(true)
}

func (l *strictLink) Send(b *packet.Batch) error {
	if l.closed.Load() {
		l.t.Error("Send on a closed link")
	}
	if l.fading.Load() && l.left.Add(-1) < 0 {
		b.Sent = b.Len()
		return nil
	}
	return l.Link.Send(b)
}

func (l *strictLink) Recv(rb *packet.RecvBatch) error {
	l.receivers.Add(1)
	defer l.receivers.Add(-1)
	return l.Link.Recv(rb)
}

func (l *strictLink) Join(group netip.Addr) (packet.Receiver, error) {
	return packet.Join(l.Link, group)
}

func (l *strictLink) Pending() bool {
	if l.closed.Load() {
		l.t.Error("Pending on a closed link")
	}
	return false
}

func (l *strictLink) Close() error {
	l.closed.Store(true)
	return l.Link.Close()
}

func (e *end) addLink(l packet.Link) int {
	e.t.Helper()
	index, err := e.dev.AddLink(l)
	if err != nil {
		e.t.Fatal(err)
	}
	return index
}

func (e *end) removeLink(index int) {
	e.t.Helper()
	if err := e.dev.RemoveLink(index); err != nil {
		e.t.Fatal(err)
	}
}

func TestQueuePairsGoOnWhenTheirAddressComesBack(t *testing.T) {
	for _, who := range []string{"requester", "responder"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := pipe.NewNet()
				strict := func(addr netip.Addr) *strictLink { return &strictLink{Link: openLink(t, n, addr), t: t} }
				linkA, linkB := strict(addrA), strict(addrB)
				a, b := newEnd(t, 1, linkA, 8<<20), newEnd(t, 2, linkB, 8<<20)
				defer closeAll(t, a, b)
				a.connect(a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
				b.connect(b.qp, addrA, a.qp.Num(), a.psn, usualRetry)
				moving, link, addr := a, linkA, addrA
				if who == "responder" {
					moving, link, addr = b, linkB, addrB
				}
				for round := range 3 {
					fill(a.buf, uint64(round))
					// A batch holds, or acknowledges, at most a window: the WRITE of eight is in
					// progress when the link goes.
					link.fade(2)
					a.post(a.write(b, 1, 0, 8<<20))
					synctest.Wait()
					moving.removeLink(0)
					a.post(a.write(b, 2, 0, 8<<20))
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
					if got := a.cq.Poll(make([]qp.WC, 1)); got != 0 {
						t.Fatal("a WRITE is complete without a way")
					}
					link = strict(addr)
					if index := moving.addLink(link); index != 0 {
						t.Fatalf("%v came back as GID %d, it was GID 0", addr, index)
					}
					a.succeed(2)
					if !bytes.Equal(a.buf, b.buf) {
						t.Fatal("other bytes arrived")
					}
				}
			})
		})
	}
}

func TestRetriesRunOutWhileTheAddressIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		strict := func(l packet.Link) packet.Link { return &strictLink{Link: l, t: t} }
		a, b := newPair(t, 4096, usualRetry, strict)
		defer closeAll(t, a, b)
		a.removeLink(0)
		before := a.counter("tx_packets")
		a.post(a.write(b, 1, 0, 64))
		if wc := a.wait(1)[0]; wc.Status != qp.WCRetryExcErr {
			t.Errorf("the WRITE ended with %s, want RETRY_EXC_ERR", wc.Status.Name())
		}
		if sent, refused := a.counter("tx_packets")-before, a.counter("tx_refused"); sent != 0 || refused != 8 {
			t.Errorf("%d packets sent, %d refused, want 0 and the first with 7 retries", sent, refused)
		}
		if err := a.dev.SendError(); !errors.Is(err, errAbsent) || !strings.Contains(err.Error(), "GID 0 (192.0.2.1)") {
			t.Errorf("SendError = %v, want one that says that GID 0 is away", err)
		}
	})
}

// A queue pair that was not used before its address went finds its path again too.
func TestDatagramsAreLostWhileTheAddressIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
		defer closeAll(t, a, b)
		ah := a.ah(0, addrB)
		a.removeLink(0)
		b.postRecv(&qp.RecvWR{ID: 7, SGList: b.sge(0, 100)})
		a.post(a.datagram(1, ah, b.qp.Num(), 0, 10))
		a.succeed(1)
		if _, err := a.dev.CreateAH(a.pd, qp.AddressVector{DGID: qp.GIDFromAddr(addrB)}); !errors.Is(err, errAbsent) {
			t.Errorf("CreateAH = %v, want that the address is away", err)
		}
		a.addLink(openLink(t, n, addrA))
		a.post(a.datagram(2, ah, b.qp.Num(), 0, 10))
		a.succeed(1)
		if wc := b.succeed(1)[0]; wc.Imm != 2 {
			t.Errorf("datagram %d arrived, want only the one sent since the address is back", wc.Imm)
		}
	})
}

func TestRemoveLinkLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		e := newEnd(t, 1, openLink(t, n, addrA), 64)
		defer closeAll(t, e)
		for range 3 {
			l := &strictLink{Link: openLink(t, n, addrB), t: t}
			index := e.addLink(l)
			synctest.Wait()
			if got := l.receivers.Load(); got != 1 {
				t.Fatalf("%d goroutines receive from the link, want 1", got)
			}
			e.removeLink(index)
			if got := l.receivers.Load(); got != 0 || !l.closed.Load() {
				t.Fatalf("%d goroutines receive from a link that was removed; closed: %v", got, l.closed.Load())
			}
		}
		if got := len(e.dev.links); got != 1 {
			t.Errorf("the device holds %d links, want 1", got)
		}
		mustEvent(t, e.dev, gidChange)
		noEvent(t, e.dev)
	})
}

// A link that fails repeatedly waits between its failures, but not when it is removed.
func TestRemovingALinkThatFailsDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		e := newEnd(t, 1, openLink(t, n, addrA), 64)
		defer closeAll(t, e)
		index := e.addLink(&deafLink{Link: openLink(t, n, addrB), failures: 1 << 30})
		time.Sleep(time.Minute)
		synctest.Wait()
		start := time.Now()
		e.removeLink(index)
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestCountsOfRemovedLinksStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 4096, usualRetry, nil)
		defer closeAll(t, a, b)
		a.post(a.write(b, 1, 0, 64))
		a.succeed(1)
		synctest.Wait()
		before := a.counter("link_tx_calls")
		if before == 0 {
			t.Fatal("nothing was counted")
		}
		a.removeLink(0)
		if got := a.counter("link_tx_calls"); got != before {
			t.Errorf("link_tx_calls is %d, was %d", got, before)
		}
	})
}

func TestAddAndRemoveSayWhatIsWrong(t *testing.T) {
	n, other := pipe.NewNet(), pipe.NewNet()
	e := newEnd(t, 1, openLink(t, n, addrA), 64)
	small, err := n.Open(addrC, 576)
	if err != nil {
		t.Fatal(err)
	}
	tiny := &cappedLink{Link: small}
	tiny.mtu.Store(300)
	twin := openLink(t, other, addrA)
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"an address that is there", func() error { _, err := e.dev.AddLink(twin); return err },
			"192.0.2.1 is GID 0 of the device already"},
		{"too small an MTU", func() error { _, err := e.dev.AddLink(tiny); return err },
			"the MTU of 192.0.2.66 is 300 bytes"},
		{"an index that is not there", func() error { return e.dev.RemoveLink(1) },
			"no GID with index 1: the device has 0 (192.0.2.1)"},
		{"a negative index", func() error { return e.dev.RemoveLink(-1) }, "no GID with index -1"},
		{"removed", func() error { return e.dev.RemoveLink(0) }, ""},
		{"removed twice", func() error { return e.dev.RemoveLink(0) }, "GID 0 (192.0.2.1) is away"},
		{"looked at while it is away", func() error { return e.dev.UpdateLink(0) }, "the device has none"},
	} {
		err := c.do()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	closeAll(t, e)
	_, aerr := e.dev.AddLink(twin)
	for _, err := range []error{aerr, e.dev.RemoveLink(0), e.dev.UpdateLink(0)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
	// A rejected link still belongs to the caller.
	for _, l := range []packet.Link{twin, small} {
		b := packet.NewBatch(1)
		if err := l.Send(b); err != nil {
			t.Errorf("a link that was refused is closed: %v", err)
		}
		l.Close()
	}
}

func TestPortIsActiveWhileThereIsALink(t *testing.T) {
	n := pipe.NewNet()
	if d, err := Open(Config{}); err == nil {
		d.Close()
		t.Error("a device that does not wait for links was opened without one")
	}
	d := openWaiting(t)
	defer d.Close()
	portErr, portActive := AsyncEvent{Type: qp.EventPortErr, Port: 1}, AsyncEvent{Type: qp.EventPortActive, Port: 1}
	add := func(a netip.Addr) func() error {
		return func() error { _, err := d.AddLink(openLink(t, n, a)); return err }
	}
	remove := func(i int) func() error { return func() error { return d.RemoveLink(i) } }
	interfaceIs := func(up bool) func() error { return func() error { d.PortChanged(up); return nil } }
	nothing := func() error { return nil }
	for _, c := range []struct {
		step   string
		do     func() error
		active bool
		events []AsyncEvent
	}{
		{"opened", nothing, false, nil},
		{"first link", add(addrA), true, []AsyncEvent{gidChange, portActive}},
		{"second link", add(addrB), true, []AsyncEvent{gidChange}},
		{"interface down", interfaceIs(false), false, []AsyncEvent{portErr}},
		{"a link fewer while it is down", remove(0), false, []AsyncEvent{gidChange}},
		{"interface up", interfaceIs(true), true, []AsyncEvent{portActive}},
		{"interface still up", interfaceIs(true), true, nil},
		{"last link", remove(1), false, []AsyncEvent{gidChange, portErr}},
		{"interface down without link", interfaceIs(false), false, nil},
		{"a link while it is down", add(addrA), false, []AsyncEvent{gidChange}},
		{"interface up with a link", interfaceIs(true), true, []AsyncEvent{portActive}},
	} {
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.step, err)
		}
		if d.PortActive() != c.active {
			t.Errorf("%s: active is %v", c.step, !c.active)
		}
		for _, want := range c.events {
			mustEvent(t, d, want)
		}
		noEvent(t, d)
	}
}

// Links are added and removed while queue pairs exchange packets, groups are joined and the table
// is read: nothing is left behind, and nothing is sent by a closed link.
func TestLinksComeAndGoUnderTraffic(t *testing.T) {
	n := pipe.NewNet()
	strict := func(addr netip.Addr) packet.Link { return &strictLink{Link: openLink(t, n, addr), t: t} }
	a, b := newEnd(t, 1, strict(addrA), 1<<16), newEnd(t, 2, strict(addrB), 1<<16)
	long := retry{timeout: 8, count: 7} // 1 ms
	a.connect(a.qp, addrB, b.qp.Num(), b.psn, long)
	b.connect(b.qp, addrA, a.qp.Num(), a.psn, long)
	member := b.newDatagramQP(testQKey)
	if err := member.AttachMulticast(qp.GIDFromAddr(group4)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, m := range []struct {
		e    *end
		addr netip.Addr
	}{{a, addrA}, {b, addrB}} {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := m.e.dev.RemoveLink(0)
				if err == nil {
					_, err = m.e.dev.AddLink(strict(m.addr))
				}
				if err != nil {
					t.Error(err)
					return
				}
				m.e.dev.GIDs()
				m.e.counter("link_tx_calls")
			}
		})
	}
	for i := range 200 {
		if _, err := a.qp.PostSend([]*qp.SendWR{a.write(b, uint64(i), 0, 5000)}); err != nil {
			t.Fatal(err)
		}
		// Retries may run out: then start over.
		if wc := a.wait(1)[0]; wc.Status != qp.WCSuccess {
			close(stop)
			all.Wait()
			for _, e := range []*end{a, b} {
				if err := e.qp.Modify(&qp.Attr{State: qp.RESET}, qp.AttrState); err != nil {
					t.Fatal(err)
				}
			}
			a.connect(a.qp, addrB, b.qp.Num(), b.psn, long)
			b.connect(b.qp, addrA, a.qp.Num(), a.psn, long)
			a.post(a.write(b, uint64(i), 0, 5000))
			a.succeed(1)
			closeAll(t, a, b)
			return
		}
	}
	close(stop)
	all.Wait()
	closeAll(t, a, b)
	if err := a.dev.RemoveLink(0); !errors.Is(err, ErrClosed) {
		t.Errorf("RemoveLink after Close = %v", err)
	}
}

// A blockedLink accepts nothing until it is closed.
type blockedLink struct {
	packet.Link
	sending, closed chan struct{}
	once            sync.Once
}

func (l *blockedLink) Send(*packet.Batch) error {
	close(l.sending)
	<-l.closed
	return net.ErrClosed
}

func (l *blockedLink) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Link.Close()
}

// Removing a link waits for goroutines that send by it, and closing the device wakes both.
func TestCloseEndsARemovalThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &blockedLink{Link: openLink(t, pipe.NewNet(), addrA), sending: make(chan struct{}),
			closed: make(chan struct{})}
		e := newEnd(t, 1, l, 4096)
		e.connect(e.qp, addrB, 17, 0, usualRetry)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := e.qp.PostSend([]*qp.SendWR{e.write(e, 1, 0, 64)}); err != nil {
				t.Error(err)
			}
		})
		<-l.sending
		var removed error
		all.Go(func() { removed = e.dev.RemoveLink(0) })
		closeAll(t, e)
		all.Wait()
		if removed != nil && !errors.Is(removed, ErrClosed) {
			t.Errorf("RemoveLink = %v", removed)
		}
	})
}

func TestGIDsAreThoseThatAreThere(t *testing.T) {
	n := pipe.NewNet()
	local := func(zone string) netip.Addr { return netip.MustParseAddr("fe80::1%" + zone) }
	e := newEnd(t, 1, openLink(t, n, addrA), 64)
	defer closeAll(t, e)
	open := func(a netip.Addr) packet.Link { return openLink(t, pipe.NewNet(), a) }
	for _, c := range []struct {
		step string
		do   func() int
		want int
		gids map[int]netip.Addr
	}{
		{"another", func() int { return e.addLink(open(local("eth0"))) }, 1,
			map[int]netip.Addr{0: addrA, 1: local("eth0")}},
		{"of another zone", func() int { return e.addLink(open(local("eth1"))) }, 2,
			map[int]netip.Addr{0: addrA, 1: local("eth0"), 2: local("eth1")}},
		{"gone", func() int { e.removeLink(1); return 1 }, 1, map[int]netip.Addr{0: addrA, 2: local("eth1")}},
		{"another while it is away", func() int { return e.addLink(open(addrB)) }, 3,
			map[int]netip.Addr{0: addrA, 2: local("eth1"), 3: addrB}},
		{"all gone", func() int { e.removeLink(0); e.removeLink(2); e.removeLink(3); return 0 }, 0,
			map[int]netip.Addr{}},
		{"back", func() int { return e.addLink(open(local("eth1"))) }, 2, map[int]netip.Addr{2: local("eth1")}},
	} {
		if got := c.do(); got != c.want {
			t.Errorf("%s: index %d, want %d", c.step, got, c.want)
		}
		got := map[int]netip.Addr{}
		for _, g := range e.dev.GIDs() {
			got[g.Index] = g.Addr
		}
		if d := cmp.Diff(c.gids, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("%s: the table (-want +got):\n%s", c.step, d)
		}
	}
	if n := e.dev.GIDTableLen(); n != 4 {
		t.Errorf("the table is %d long, want 4", n)
	}
}
