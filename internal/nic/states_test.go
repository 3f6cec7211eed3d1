package nic

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

func modify(t *testing.T, q *QP, a qp.Attr, mask qp.AttrMask) {
	t.Helper()
	if err := q.Modify(&a, mask); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedModifyNamesTheAttribute(t *testing.T) {
	a, b := newPair(t, 1<<12, usualRetry, nil)
	defer closeAll(t, a, b)
	small := newEnd(t, 3, func() packet.Link {
		l, err := pipe.NewNet().Open(addrA, 1500)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}(), 64)
	defer closeAll(t, small)
	initQP(t, small.qp)
	toRTR := qp.AttrState | qp.AttrAV | qp.AttrPathMTU | qp.AttrDestQPN | qp.AttrRQPSN |
		qp.AttrMaxDestRdAtomic | qp.AttrMinRNRTimer
	peer := qp.AddressVector{DGID: qp.GIDFromAddr(addrB)}
	for _, c := range []struct {
		rule  string
		q     *QP
		attr  qp.Attr
		mask  qp.AttrMask
		fault qp.AttrMask
		words string
	}{
		{"no way between the states", a.qp, qp.Attr{State: qp.INIT}, qp.AttrState, qp.AttrState,
			"from RTS to INIT: IBV_QP_STATE is not allowed"},
		{"an attribute the state does not take", a.qp, qp.Attr{AV: peer}, qp.AttrAV, qp.AttrAV,
			"from RTS to RTS: IBV_QP_AV is not allowed"},
		{"an alternate path", a.qp, qp.Attr{}, qp.AttrAltPath, qp.AttrAltPath, "RoCE has no alternate paths"},
		{"a missing attribute", small.qp, qp.Attr{State: qp.RTR}, qp.AttrState, qp.AttrAV, "IBV_QP_AV is missing"},
		{"a GID that is not there", small.qp,
			qp.Attr{State: qp.RTR, PathMTU: 256, AV: qp.AddressVector{DGID: peer.DGID, SGIDIndex: 3}}, toRTR,
			qp.AttrAV, "from INIT to RTR: IBV_QP_AV cannot be used: there is no GID with index 3"},
		{"a path MTU that the link does not carry", small.qp, qp.Attr{State: qp.RTR, PathMTU: 4096, AV: peer}, toRTR,
			qp.AttrPathMTU, "IBV_QP_PATH_MTU cannot be used: path MTU 4096 does not fit 192.0.2.1"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			before, _ := c.q.Query()
			err := c.q.Modify(&c.attr, c.mask)
			var e *qp.ModifyError
			if !errors.As(err, &e) || e.Attr != c.fault || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v, want %v with %q", err, c.fault, c.words)
			}
			if after, _ := c.q.Query(); after != before {
				t.Errorf("a refused Modify changed %+v into %+v", before, after)
			}
		})
	}
}

func TestPathMTUMayBeTheLargestOfTheLink(t *testing.T) {
	l, err := pipe.NewNet().Open(addrA, 1500)
	if err != nil {
		t.Fatal(err)
	}
	e := newEnd(t, 1, l, 64)
	defer closeAll(t, e)
	// connect requests 1024, the largest that fits 1500.
	e.connect(e.qp, addrB, 77, 1, usualRetry)
}

// Both ends move an open connection to other addresses, in SQD as the IBA permits.
func TestAddressVectorChangedInSQDReroutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		second := [2]netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")}
		var ends [2]*end
		var links [2]packet.Link
		for i, first := range []netip.Addr{addrA, addrB} {
			links[i] = openLink(t, n, second[i])
			e := &end{t: t, dev: openDevice(t, uint64(i+1), openLink(t, n, first), links[i]), psn: 10}
			e.pd = &mr.PD{}
			e.register(make([]byte, 1<<12))
			e.cq = e.newCQ(64)
			e.qp = e.newQP()
			ends[i] = e
		}
		a, b := ends[0], ends[1]
		defer closeAll(t, a, b)
		a.connect(a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
		b.connect(b.qp, addrA, a.qp.Num(), a.psn, usualRetry)
		a.post(a.write(b, 1, 0, 64))
		a.succeed(1)

		for i, e := range ends {
			modify(t, e.qp, qp.Attr{State: qp.SQD}, qp.AttrState)
			modify(t, e.qp, qp.Attr{AV: qp.AddressVector{DGID: qp.GIDFromAddr(second[1-i]), SGIDIndex: 1}}, qp.AttrAV)
		}
		a.post(a.write(b, 2, 0, 64))
		synctest.Wait()
		if sent := links[0].(packet.StatsReporter).Stats().TxFrames; sent != 0 {
			t.Errorf("%d frames left in SQD", sent)
		}
		for _, e := range ends {
			modify(t, e.qp, qp.Attr{State: qp.RTS}, qp.AttrState)
		}
		a.succeed(1)
		for i, l := range links {
			if sent := l.(packet.StatsReporter).Stats().TxFrames; sent != 1 {
				t.Errorf("end %d sent %d frames by its second address, want 1", i, sent)
			}
		}
	})
}

func TestSendQueueDrainsUnderTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<20, usualRetry, func(l packet.Link) packet.Link {
			return fault.New(l, fault.Config{Drop: 0.05, Seed: 1})
		})
		defer closeAll(t, a, b)
		for id := range uint64(20) {
			a.post(a.write(b, id, 0, 1<<18))
		}
		modify(t, a.qp, qp.Attr{State: qp.SQD, SQDAsyncNotify: true}, qp.AttrState|qp.AttrSQDAsyncNotify)
		if attr, _ := a.qp.Query(); attr.CurState != qp.SQD || !attr.SQDraining {
			t.Errorf("on the way: %+v", attr)
		}
		err := a.qp.Modify(&qp.Attr{State: qp.RTS}, qp.AttrState)
		if err == nil || !strings.Contains(err.Error(), "still draining") {
			t.Errorf("back to RTS too early: %v", err)
		}
		if e, err := a.dev.Event(t.Context()); err != nil || e != (AsyncEvent{Type: qp.EventSQDrained, QP: a.qp}) {
			t.Fatalf("Event = %+v, %v", e, err)
		}
		if attr, _ := a.qp.Query(); attr.SQDraining {
			t.Errorf("drained: %+v", attr)
		}
		done := a.cq.Poll(make([]qp.WC, 32))
		if done == 0 || done == 20 {
			t.Errorf("%d requests are complete: those that were started, and no other, must be", done)
		}
		modify(t, a.qp, qp.Attr{State: qp.RTS}, qp.AttrState)
		a.succeed(20 - done)
	})
}

func TestQueryTellsTheStateThatTheMachineEntered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<12, retry{timeout: 8, count: 1}, nil)
		defer closeAll(t, a, b)
		wr := a.write(b, 1, 0, 8)
		wr.RKey++
		a.post(wr)
		if wc := a.wait(1)[0]; wc.Status != qp.WCRemAccessErr {
			t.Fatalf("completion %+v", wc)
		}
		for _, q := range []*QP{a.qp, b.qp} {
			if attr, _ := q.Query(); attr.State != qp.ERR || attr.CurState != qp.ERR || attr.DestQPN == 0 {
				t.Errorf("attributes %+v", attr)
			}
		}
		mustEvent(t, b.dev, AsyncEvent{Type: qp.EventQPAccessErr, QP: b.qp})
		noEvent(t, a.dev)
	})
}

func TestUnreliableConnectionRecoversFromSQE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<12, usualRetry, nil)
		defer closeAll(t, a, b)
		ucs := [2]*QP{}
		for i, e := range []*end{a, b} {
			q, err := e.dev.CreateQP(QPInit{Type: qp.UC, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq,
				Cap: qp.Cap{MaxSendWR: 4, MaxSendSGE: 1, MaxRecvWR: 4, MaxRecvSGE: 1}})
			if err != nil {
				t.Fatal(err)
			}
			ucs[i] = q
		}
		for i, e := range []*end{a, b} {
			initQP(t, ucs[i])
			modify(t, ucs[i], qp.Attr{State: qp.RTR, PathMTU: 1024, DestQPN: ucs[1-i].Num(),
				AV: qp.AddressVector{DGID: qp.GIDFromAddr([]netip.Addr{addrB, addrA}[i])}},
				qp.AttrState|qp.AttrAV|qp.AttrPathMTU|qp.AttrDestQPN|qp.AttrRQPSN)
			modify(t, ucs[i], qp.Attr{State: qp.RTS}, qp.AttrState|qp.AttrSQPSN)
			if _, err := ucs[i].PostRecv([]*qp.RecvWR{{ID: 7, SGList: e.sge(0, 100)}}); err != nil {
				t.Fatal(err)
			}
		}
		bad := a.send(1, 8)[0]
		bad.SGList[0].LKey++
		if _, err := ucs[0].PostSend([]*qp.SendWR{bad, a.send(2, 8)[0]}); err != nil {
			t.Fatal(err)
		}
		for i, wc := range a.wait(2) {
			if want := []qp.WCStatus{qp.WCLocProtErr, qp.WCWRFlushErr}[i]; wc.Status != want {
				t.Errorf("request %d ended with %v, want %v", wc.WRID, wc.Status, want)
			}
		}
		if ucs[0].State() != qp.SQE {
			t.Errorf("the state is %v", ucs[0].State())
		}
		// It receives in SQE.
		if _, err := ucs[1].PostSend(b.send(3, 8)); err != nil {
			t.Fatal(err)
		}
		b.succeed(1)
		if wc := a.succeed(1)[0]; wc.WRID != 7 {
			t.Errorf("completion %+v", wc)
		}
		modify(t, ucs[0], qp.Attr{State: qp.RTS, CurState: qp.SQE}, qp.AttrState|qp.AttrCurState)
		if _, err := ucs[0].PostSend(a.send(4, 8)); err != nil {
			t.Fatal(err)
		}
		a.succeed(1)
		if wc := b.succeed(1)[0]; wc.WRID != 7 {
			t.Errorf("completion %+v", wc)
		}
	})
}
