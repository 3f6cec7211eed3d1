package nic

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// A hookedLink calls functions of the test while the device joins a group by it or closes it, and
// reports another batch size if batch is set.
type hookedLink struct {
	packet.Link
	joining, closing func()
	batch            int
}

func (l *hookedLink) Caps() packet.Caps {
	c := l.Link.Caps()
	if l.batch != 0 {
		c.Batch = l.batch
	}
	return c
}

func (l *hookedLink) Join(group netip.Addr) (packet.Receiver, error) {
	if l.joining != nil {
		l.joining()
	}
	return packet.Join(l.Link, group)
}

func (l *hookedLink) Close() error {
	if l.closing != nil {
		l.closing()
	}
	return l.Link.Close()
}

func TestNothingIsSentByALinkThatIsBeingClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		spy := &spyLink{Link: openLink(t, n, addrA)}
		hooked := &hookedLink{Link: spy}
		e := newEnd(t, 1, hooked, 4096)
		e.connect(e.qp, addrB, 17, 0, usualRetry)
		closed := false
		hooked.closing = func() {
			closed = true
			e.post(e.write(e, 1, 0, 64))
			if sent := spy.take(0); len(sent) > 0 || len(e.dev.GIDs()) > 0 {
				t.Errorf("%d packets left by a link that is being closed, the GIDs are %+v", len(sent), e.dev.GIDs())
			}
		}
		e.removeLink(0)
		if !closed {
			t.Error("the link was not closed")
		}
		closeAll(t, e)
	})
}

func TestNoLinkIsAddedWhileTheDeviceCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		hooked := &hookedLink{Link: openLink(t, n, addrA)}
		e := newEnd(t, 1, hooked, 64)
		late := openLink(t, n, addrB)
		defer late.Close()
		err := errors.New("not called")
		hooked.closing = func() { _, err = e.dev.AddLink(late) }
		closeAll(t, e)
		if !errors.Is(err, ErrClosed) {
			t.Errorf("AddLink = %v, want ErrClosed", err)
		}
	})
}

func TestAGroupIsNotJoinedForAMemberThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := newDatagramEnd(t, 1, openLink(t, n, addrA)), newDatagramEnd(t, 2, openLink(t, n, addrB))
		defer closeAll(t, a, b)
		b.member(b.qp, group4, 0)
		b.removeLink(0)
		b.addLink(&hookedLink{Link: openLink(t, n, addrB), joining: b.qp.Close})
		a.post(a.datagram(1, a.ah(0, group4), bth.MulticastQPN, 0, 20))
		if n.Undelivered() != 1 {
			t.Error("the device is in a group without members")
		}
	})
}

// An address may come back with another link, whose capabilities then apply.
func TestALinkOfAnotherKindComesBack(t *testing.T) {
	n := pipe.NewNet()
	e := newEnd(t, 1, openLink(t, n, addrA), 64)
	defer closeAll(t, e)
	e.removeLink(0)
	l, err := n.Open(addrA, 1500)
	if err != nil {
		t.Fatal(err)
	}
	e.addLink(&hookedLink{Link: l, batch: 300})
	if g := e.dev.GIDs()[0]; g.MTU != 1024 || g.Caps.MTU != 1500 || g.Caps.Batch != 300 {
		t.Errorf("GID 0 is %+v", g)
	}
	if got := e.dev.shard0().out[0].batch.Cap(); got != 300 {
		t.Errorf("%d frames are sent at once, want 300", got)
	}
}

// An address that went may now belong to another host.
func TestAnAddressThatWentIsNotTheDevicesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a := newDatagramEnd(t, 1, openLink(t, n, addrA), openLink(t, n, addrB))
		defer closeAll(t, a)
		a.member(a.qp, group4, 0)
		a.removeLink(1)
		peer := newRawPeer(t, n, addrB)
		defer peer.link.Close()
		p := bth.Packet{
			Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.MulticastQPN,
			DETH: bth.DETH{QKey: testQKey, SrcQP: a.qp.Num()}, Payload: []byte("datagram"),
		}
		peer.sendSealed(group4, p.Append(nil))
		synctest.Wait()
		if got := a.took()[a.qp.Num()]; got != 1 {
			t.Errorf("received %d times from the host that has the address now, want once", got)
		}
	})
}

// foreignAH is an address handle of another device.
type foreignAH struct{ pd *mr.PD }

func (h foreignAH) PD() *mr.PD    { return h.pd }
func (foreignAH) Multicast() bool { return false }

func (foreignAH) Vector() qp.AddressVector { return qp.AddressVector{} }

func TestAForeignHandleLeadsNowhereWithoutLinksToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &end{t: t, dev: openWaiting(t), pd: &mr.PD{}}
		defer closeAll(t, e)
		var err error
		if e.cq, err = e.dev.CreateCQ(16); err != nil {
			t.Fatal(err)
		}
		e.qp = e.newDatagramQP(testQKey)
		wr := &qp.SendWR{ID: 1, Opcode: qp.WRSend, Flags: qp.Signaled, AH: foreignAH{e.pd}, RemoteQPN: 17}
		e.post(wr)
		if wc := e.wait(1)[0]; wc.Status != qp.WCLocQPOpErr {
			t.Errorf("it ended with %s, want LOC_QP_OP_ERR", wc.Status.Name())
		}
	})
}

// openWaiting opens a device without links.
func openWaiting(t *testing.T) *Device {
	t.Helper()
	d, err := Open(Config{Name: "test", LinksOptional: true, Seed: 1, MaxQP: 16, MaxMR: 16, MaxCQ: 16, MaxSRQ: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
