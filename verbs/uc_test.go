package verbs_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// ucPair connects two devices in memory by an unreliable connection; faults are injected into the
// packets of the first.
func ucPair(t *testing.T, faults fault.Config) (a, b *verbstest.Node) {
	t.Helper()
	cfgs := verbstest.PipeLinks(t)
	cfgs[0].Wrap = func(l packet.Link) packet.Link { return fault.New(l, faults) }
	a, b = verbstest.Open(t, cfgs[0], 1<<20), verbstest.Open(t, cfgs[1], 1<<20)
	for _, n := range []*verbstest.Node{a, b} {
		q, err := n.PD.CreateQP(verbs.QPInitAttr{Type: verbs.UC, SendCQ: n.CQ, Cap: verbstest.Cap})
		if err != nil {
			t.Fatal(err)
		}
		n.QP = q
		if n.Info, err = q.Local(0, 7); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		a.QP.Connect(a.Info, b.Info, verbs.DefaultConnAttr()),
		b.QP.Connect(b.Info, a.Info, verbs.DefaultConnAttr()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

func TestUnreliableConnectionDeliversOverAGoodLink(t *testing.T) {
	a, b := ucPair(t, fault.Config{})
	const n = 300001
	for i := range n {
		a.Buf[i] = byte(i * 7)
	}
	if err := b.QP.PostRecv(&verbs.RecvWR{ID: 5, SGList: []verbs.SGE{b.MR.SGE(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	err := a.QP.PostSend(&verbs.SendWR{
		ID: 6, Opcode: verbs.WRWriteImm, Flags: verbs.Signaled, Imm: 9,
		SGList: []verbs.SGE{a.MR.SGE(0, n)}, RemoteAddr: b.MR.Addr(), RKey: b.MR.RKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	var wc [1]verbs.WC
	for _, end := range []struct {
		n  *verbstest.Node
		op verbs.WCOpcode
	}{{a, verbs.WCWrite}, {b, verbs.WCRecvWriteImm}} {
		if _, err := end.n.CQ.Wait(context.Background(), wc[:]); err != nil || wc[0].Status != verbs.WCSuccess ||
			wc[0].Opcode != end.op {
			t.Fatalf("%+v, %v, want success of %v", wc[0], err, end.op)
		}
	}
	if !bytes.Equal(a.Buf[:n], b.Buf[:n]) {
		t.Error("the bytes differ")
	}
}

// Received messages are complete, whatever was lost, duplicated or reordered; every send
// completes.
func TestUnreliableConnectionLosesWholeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ucPair(t, fault.Config{Seed: 3, Drop: 0.02, Duplicate: 0.02, Reorder: 0.02})
		const messages, size = 200, 10000
		for i := range messages {
			if err := b.QP.PostRecv(&verbs.RecvWR{ID: uint64(i), SGList: []verbs.SGE{b.MR.SGE(0, size)}}); err != nil {
				t.Fatal(err)
			}
		}
		got := 0
		var wc [1]verbs.WC
		for i := range messages {
			for j := range size {
				a.Buf[j] = byte(i)
			}
			if err := a.QP.PostSend(&verbs.SendWR{Opcode: verbs.WRSendImm, Imm: uint32(i), Flags: verbs.Signaled,
				SGList: []verbs.SGE{a.MR.SGE(0, size)}}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.CQ.Wait(context.Background(), wc[:]); err != nil || wc[0].Status != verbs.WCSuccess {
				t.Fatalf("send %d: %+v, %v", i, wc[0], err)
			}
			synctest.Wait()
			for b.CQ.Poll(wc[:]) == 1 {
				whole := bytes.Repeat([]byte{byte(wc[0].Imm)}, size)
				if wc[0].Status != verbs.WCSuccess || wc[0].ByteLen != size || !bytes.Equal(b.Buf[:size], whole) {
					t.Fatalf("message %d is not whole: %+v", i, wc[0])
				}
				got++
			}
		}
		if got == 0 || got == messages {
			t.Errorf("%d of %d messages arrived: the faults should have cost some and not all", got, messages)
		}
		if err := a.Device.Close(); err != nil {
			t.Error(err)
		}
		if err := b.Device.Close(); err != nil {
			t.Error(err)
		}
	})
}
