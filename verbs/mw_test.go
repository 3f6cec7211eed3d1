package verbs_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

func mustFail(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// bindableRegion is a region of n that windows may be bound to.
func (n *testNode) bindableRegion(size int) *verbs.MR {
	n.Helper()
	m, err := n.pd.RegMR(make([]byte, size), verbs.LocalWrite|verbs.MWBind)
	if err != nil {
		n.Fatal(err)
	}
	return m
}

func (n *testNode) window(typ verbs.MWType) *verbs.MW {
	n.Helper()
	w, err := n.pd.AllocMW(typ)
	if err != nil {
		n.Fatal(err)
	}
	return w
}

func (n *testNode) post(wr *verbs.SendWR) {
	n.Helper()
	if err := n.qp.PostSend(wr); err != nil {
		n.Fatal(err)
	}
}

// ends posts a request and takes its completion, which must have a status.
func (n *testNode) ends(wr *verbs.SendWR, want verbs.WCStatus) {
	n.Helper()
	wr.Flags |= verbs.Signaled
	n.post(wr)
	var wc [1]verbs.WC
	if _, err := n.cq.Wait(n.Context(), wc[:]); err != nil {
		n.Fatal(err)
	}
	if wc[0].Status != want {
		n.Fatalf("%v ends with %v, want %v", wr.Opcode, wc[0].Status, want)
	}
}

func TestBindMWRefusesBeforePosting(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 64)
	region := a.bindableRegion(64)
	one, two := a.window(verbs.MWType1), a.window(verbs.MWType2)
	_, err := a.qp.BindMW(two, verbs.BindInfo{MR: region, Addr: region.Addr(), Length: 1})
	mustFail(t, err, "is of type 2: bind it with a WRBindMW work request")
	_, err = b.qp.BindMW(one, verbs.BindInfo{MR: region, Addr: region.Addr(), Length: 1})
	mustFail(t, err, "not on one device")
	_, err = a.qp.BindMW(one, verbs.BindInfo{MR: b.mr, Length: 1})
	mustFail(t, err, "not on one device")
	_, err = a.qp.BindMW(one, verbs.BindInfo{Length: 1})
	mustFail(t, err, "no region given")
	_, err = a.pd.AllocMW(3)
	mustFail(t, err, "type 3 is not known")
	fresh, _ := a.newQP()
	_, err = fresh.BindMW(one, verbs.BindInfo{})
	mustFail(t, err, "cannot post a send in state RESET")
	if one.Bound() || two.Bound() || one.Type() != verbs.MWType1 {
		t.Error("a refused bind has an effect")
	}
	if err := one.Dealloc(); err != nil {
		t.Error(err)
	}
	mustFail(t, one.Dealloc(), "is not a window of this table")
}

// Each bind gets the key after the one before it, executed or not.
func TestBindsInTheQueueCountTheKeyOn(t *testing.T) {
	a, _ := connectedNodes(t, pipeLinks(t), 64)
	region, w := a.bindableRegion(64), a.window(verbs.MWType1)
	if err := a.qp.Modify(&verbs.QPAttr{State: verbs.SQD}, verbs.AttrState); err != nil {
		t.Fatal(err)
	}
	want := w.RKey()
	for range 3 {
		key, err := a.qp.BindMW(w, verbs.BindInfo{Flags: verbs.Signaled, MR: region, Addr: region.Addr(), Length: 8})
		if err != nil {
			t.Fatal(err)
		}
		if want = verbs.IncRKey(want); key != want {
			t.Errorf("key %#x, want %#x", key, want)
		}
	}
	if err := a.qp.Modify(&verbs.QPAttr{State: verbs.RTS}, verbs.AttrState); err != nil {
		t.Fatal(err)
	}
	a.wait(3, make([]verbs.WC, 4))
	if w.RKey() != want || !w.Bound() {
		t.Errorf("the window has key %#x, want %#x", w.RKey(), want)
	}
}

func TestWindowsKeepTheirRegion(t *testing.T) {
	a, _ := connectedNodes(t, pipeLinks(t), 64)
	region, one, two := a.bindableRegion(64), a.window(verbs.MWType1), a.window(verbs.MWType2)
	if _, err := a.qp.BindMW(one, verbs.BindInfo{Flags: verbs.Signaled, MR: region, Addr: region.Addr(), Length: 8}); err != nil {
		t.Fatal(err)
	}
	a.wait(1, make([]verbs.WC, 1))
	a.ends(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: two.Bind(region, region.Addr(), 8, 0)}, verbs.WCSuccess)
	mustFail(t, region.Dereg(), "2 memory windows")
	mustFail(t, region.Rereg(verbs.ReregAccess(0)), "2 memory windows")
	if err := one.Dealloc(); err != nil {
		t.Fatal(err)
	}
	mustFail(t, region.Dereg(), "1 memory windows")
	// A window of type 2 goes with its queue pair.
	if err := a.qp.Close(); err != nil {
		t.Fatal(err)
	}
	if two.Bound() {
		t.Error("the window outlives its queue pair")
	}
	if err := region.Dereg(); err != nil {
		t.Error(err)
	}
}

func TestWindowIsShutByInvalidation(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 64)
	region, w := b.bindableRegion(64), b.window(verbs.MWType2)
	bind := w.Bind(region, region.Addr()+8, 8, verbs.RemoteWrite)
	b.ends(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: bind}, verbs.WCSuccess)
	wr := a.oneSided(verbs.WRWrite, b, 8)
	wr.RemoteAddr, wr.RKey = region.Addr()+8, bind.NewKey
	a.ends(wr, verbs.WCSuccess)
	b.ends(&verbs.SendWR{Opcode: verbs.WRLocalInv, Imm: bind.NewKey}, verbs.WCSuccess)
	a.ends(wr, verbs.WCRemAccessErr)
}

func TestBindThatTheRulesRefuseEndsTheConnection(t *testing.T) {
	a, _ := connectedNodes(t, pipeLinks(t), 64)
	w := a.window(verbs.MWType2)
	a.ends(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: w.Bind(a.mr, a.mr.Addr(), 8, 0)}, verbs.WCMWBindErr)
	if s := a.qp.State(); s != verbs.ERR || w.Bound() {
		t.Errorf("state %v, bound: %v", s, w.Bound())
	}
}

func TestRegionThatBeginsAtZero(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 64)
	buf := make([]byte, 64)
	m, err := b.pd.RegMR(buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead|verbs.ZeroBased)
	if err != nil {
		t.Fatal(err)
	}
	if m.Addr() != 0 {
		t.Fatalf("the region begins at %#x", m.Addr())
	}
	copy(a.buf, "to zero")
	wr := a.oneSided(verbs.WRWrite, b, 7)
	wr.RemoteAddr, wr.RKey = 0, m.RKey()
	a.ends(wr, verbs.WCSuccess)
	wr.Opcode, wr.SGList = verbs.WRRead, []verbs.SGE{a.mr.SGE(32, 7)}
	a.ends(wr, verbs.WCSuccess)
	a.fence()
	if string(a.buf[32:39]) != "to zero" {
		t.Errorf("read %q", a.buf[32:39])
	}
	// The same bytes from this side, addresses from 0 too.
	b.ends(&verbs.SendWR{Opcode: verbs.WRWrite, SGList: []verbs.SGE{m.SGE(3, 4)}, RemoteAddr: a.mr.Addr(), RKey: a.mr.RKey()}, verbs.WCSuccess)
	a.fence()
	if string(a.buf[:4]) != "zero" {
		t.Errorf("got %q", a.buf[:4])
	}
	wr.RemoteAddr = 58
	a.ends(wr, verbs.WCRemAccessErr)
}

func TestReregGivesOtherMemoryUnderAnotherKey(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 64)
	key, other := b.mr.RKey(), make([]byte, 128)
	if err := b.mr.Rereg(verbs.ReregBuf(other), verbs.ReregAccess(verbs.LocalWrite|verbs.RemoteWrite)); err != nil {
		t.Fatal(err)
	}
	if b.mr.RKey() == key || b.mr.Len() != 128 {
		t.Errorf("key %#x as before %#x, %d bytes", b.mr.RKey(), key, b.mr.Len())
	}
	copy(a.buf, "moved")
	a.ends(a.oneSided(verbs.WRWrite, b, 5), verbs.WCSuccess)
	b.fence()
	if string(other[:5]) != "moved" || !bytes.Equal(b.buf, make([]byte, 64)) {
		t.Errorf("the former memory has %q, the present %q", b.buf[:5], other[:5])
	}
	wr := a.oneSided(verbs.WRWrite, b, 5)
	wr.RKey = key
	a.ends(wr, verbs.WCRemAccessErr)
}

func TestReregToAnotherDomain(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 64)
	mustFail(t, b.mr.Rereg(verbs.ReregPD(a.pd)), "on another device")
	mustFail(t, b.mr.Rereg(), "name at least one")
	mustFail(t, b.mr.Rereg(verbs.ReregAccess(verbs.RemoteWrite)), "needs LOCAL_WRITE")
	a.ends(a.oneSided(verbs.WRWrite, b, 5), verbs.WCSuccess)
	if err := b.mr.Rereg(verbs.ReregPD(b.dev.AllocPD())); err != nil {
		t.Fatal(err)
	}
	a.ends(a.oneSided(verbs.WRWrite, b, 5), verbs.WCRemAccessErr)
}

func TestFastRegionAsLocalMemory(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 64)
	f, err := a.pd.AllocFastMR(32)
	if err != nil {
		t.Fatal(err)
	}
	reg := f.Reg([]byte("fast source"), 0)
	a.post(&verbs.SendWR{Opcode: verbs.WRRegMR, Reg: reg})
	wr := a.oneSided(verbs.WRWrite, b, 0)
	wr.SGList = []verbs.SGE{{Addr: reg.IOVA, Length: 11, LKey: reg.NewKey}}
	a.ends(wr, verbs.WCSuccess)
	if f.Key() != reg.NewKey || !f.Registered() {
		t.Errorf("key %#x, want %#x", f.Key(), reg.NewKey)
	}
	b.fence()
	if string(b.buf[:11]) != "fast source" {
		t.Errorf("b has %q", b.buf[:11])
	}
	if err := f.Dereg(); err != nil {
		t.Fatal(err)
	}
	a.ends(wr, verbs.WCLocProtErr)
}

func TestMessagesOf32Pieces(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 32*1024)
	sizes := verbs.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 32, MaxRecvSGE: 32}
	wide := func(n *testNode) (*verbs.QP, verbs.ConnInfo) {
		q, err := n.pd.CreateQP(verbs.QPInitAttr{SendCQ: n.cq, Cap: sizes})
		if err != nil {
			t.Fatal(err)
		}
		info, err := q.Local(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		return q, info
	}
	var ai, bi verbs.ConnInfo
	a.qp, ai = wide(a)
	b.qp, bi = wide(b)
	connectQPs(t, a.qp, b.qp, ai, bi)
	// Pieces of 0 to 31 times 33 bytes, in reverse order of their places: nothing is aligned.
	pieces := func(n *testNode) (sg []verbs.SGE, total int) {
		for i := range 32 {
			sg = append(sg, n.mr.SGE((31-i)*1024, i*33))
			total += i * 33
		}
		return sg, total
	}
	for i := range a.buf {
		a.buf[i] = byte(i * 7)
	}
	sg, total := pieces(a)
	dst, _ := pieces(b)
	same := func(what string) {
		t.Helper()
		a.fence()
		b.fence()
		for i := range 32 {
			at := (31 - i) * 1024
			if !bytes.Equal(a.buf[at:at+i*33], b.buf[at:at+i*33]) {
				t.Errorf("%s: piece %d differs", what, i)
			}
		}
	}
	if err := b.qp.PostRecv(&verbs.RecvWR{SGList: dst}); err != nil {
		t.Fatal(err)
	}
	a.ends(&verbs.SendWR{Opcode: verbs.WRSend, SGList: sg}, verbs.WCSuccess)
	var wc [1]verbs.WC
	if _, err := b.cq.Wait(t.Context(), wc[:]); err != nil || wc[0].ByteLen != uint32(total) {
		t.Fatalf("received %d bytes of %d, %v", wc[0].ByteLen, total, err)
	}
	same("SEND")

	// What a READ scatters, a WRITE gathers back.
	want := bytes.Repeat([]byte("0123456789"), 32*1024/10+1)[:total]
	copy(b.buf, want)
	read := &verbs.SendWR{Opcode: verbs.WRRead, SGList: sg, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
	a.ends(read, verbs.WCSuccess)
	clear(b.buf)
	read.Opcode = verbs.WRWrite
	a.ends(read, verbs.WCSuccess)
	b.fence()
	if !bytes.Equal(b.buf[:total], want) {
		t.Error("what went out by READ and came back by WRITE differs")
	}
	mustFail(t, a.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, SGList: append(sg, a.mr.SGE(0, 1))}), "33 SGEs")
}
