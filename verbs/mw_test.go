package verbs_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestBindMWRefusesBeforePosting(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	region := a.BindableRegion(64)
	one, two := a.Window(verbs.MWType1), a.Window(verbs.MWType2)
	_, err := a.QP.BindMW(two, verbs.BindInfo{MR: region, Addr: region.Addr(), Length: 1})
	verbstest.MustFail(t, err, "is of type 2: bind it with a WRBindMW work request")
	_, err = b.QP.BindMW(one, verbs.BindInfo{MR: region, Addr: region.Addr(), Length: 1})
	verbstest.MustFail(t, err, "not on one device")
	_, err = a.QP.BindMW(one, verbs.BindInfo{MR: b.MR, Length: 1})
	verbstest.MustFail(t, err, "not on one device")
	_, err = a.QP.BindMW(one, verbs.BindInfo{Length: 1})
	verbstest.MustFail(t, err, "no region given")
	_, err = a.PD.AllocMW(3)
	verbstest.MustFail(t, err, "type 3 is not known")
	fresh, _ := a.NewQP()
	_, err = fresh.BindMW(one, verbs.BindInfo{})
	verbstest.MustFail(t, err, "cannot post a send in state RESET")
	if one.Bound() || two.Bound() || one.Type() != verbs.MWType1 {
		t.Error("a refused bind has an effect")
	}
	if err := one.Dealloc(); err != nil {
		t.Error(err)
	}
	verbstest.MustFail(t, one.Dealloc(), "is not a window of this table")
}

// Each queued bind gets the key after that of the previous bind, executed or not.
func TestBindsInTheQueueCountTheKeyOn(t *testing.T) {
	a, _ := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	region, w := a.BindableRegion(64), a.Window(verbs.MWType1)
	if err := a.QP.Modify(&verbs.QPAttr{State: verbs.SQD}, verbs.AttrState); err != nil {
		t.Fatal(err)
	}
	want := w.RKey()
	for range 3 {
		key, err := a.QP.BindMW(w, verbs.BindInfo{Flags: verbs.Signaled, MR: region, Addr: region.Addr(), Length: 8})
		if err != nil {
			t.Fatal(err)
		}
		if want = verbs.IncRKey(want); key != want {
			t.Errorf("key %#x, want %#x", key, want)
		}
	}
	if err := a.QP.Modify(&verbs.QPAttr{State: verbs.RTS}, verbs.AttrState); err != nil {
		t.Fatal(err)
	}
	a.Wait(3, make([]verbs.WC, 4))
	if w.RKey() != want || !w.Bound() {
		t.Errorf("the window has key %#x, want %#x", w.RKey(), want)
	}
}

func TestWindowsKeepTheirRegion(t *testing.T) {
	a, _ := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	region, one, two := a.BindableRegion(64), a.Window(verbs.MWType1), a.Window(verbs.MWType2)
	if _, err := a.QP.BindMW(one, verbs.BindInfo{Flags: verbs.Signaled, MR: region, Addr: region.Addr(),
		Length: 8}); err != nil {
		t.Fatal(err)
	}
	a.Wait(1, make([]verbs.WC, 1))
	a.Ends(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: two.Bind(region, region.Addr(), 8, 0)}, verbs.WCSuccess)
	verbstest.MustFail(t, region.Dereg(), "2 memory windows")
	verbstest.MustFail(t, region.Rereg(verbs.ReregAccess(0)), "2 memory windows")
	if err := one.Dealloc(); err != nil {
		t.Fatal(err)
	}
	verbstest.MustFail(t, region.Dereg(), "1 memory windows")
	// A window of type 2 is unbound when its queue pair is closed.
	if err := a.QP.Close(); err != nil {
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
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	region, w := b.BindableRegion(64), b.Window(verbs.MWType2)
	bind := w.Bind(region, region.Addr()+8, 8, verbs.RemoteWrite)
	b.Ends(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: bind}, verbs.WCSuccess)
	wr := a.OneSided(verbs.WRWrite, b, 8)
	wr.RemoteAddr, wr.RKey = region.Addr()+8, bind.NewKey
	a.Ends(wr, verbs.WCSuccess)
	b.Ends(&verbs.SendWR{Opcode: verbs.WRLocalInv, Imm: bind.NewKey}, verbs.WCSuccess)
	a.Ends(wr, verbs.WCRemAccessErr)
}

func TestBindThatTheRulesRefuseEndsTheConnection(t *testing.T) {
	a, _ := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	w := a.Window(verbs.MWType2)
	a.Ends(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: w.Bind(a.MR, a.MR.Addr(), 8, 0)}, verbs.WCMWBindErr)
	if s := a.QP.State(); s != verbs.ERR || w.Bound() {
		t.Errorf("state %v, bound: %v", s, w.Bound())
	}
}

func TestRegionThatBeginsAtZero(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	buf := make([]byte, 64)
	m, err := b.PD.RegMR(buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead|verbs.ZeroBased)
	if err != nil {
		t.Fatal(err)
	}
	if m.Addr() != 0 {
		t.Fatalf("the region begins at %#x", m.Addr())
	}
	copy(a.Buf, "to zero")
	wr := a.OneSided(verbs.WRWrite, b, 7)
	wr.RemoteAddr, wr.RKey = 0, m.RKey()
	a.Ends(wr, verbs.WCSuccess)
	wr.Opcode, wr.SGList = verbs.WRRead, []verbs.SGE{a.MR.SGE(32, 7)}
	a.Ends(wr, verbs.WCSuccess)
	a.Fence()
	if string(a.Buf[32:39]) != "to zero" {
		t.Errorf("read %q", a.Buf[32:39])
	}
	// The same bytes from this side, also with addresses from 0.
	b.Ends(&verbs.SendWR{Opcode: verbs.WRWrite, SGList: []verbs.SGE{m.SGE(3, 4)}, RemoteAddr: a.MR.Addr(),
		RKey: a.MR.RKey()}, verbs.WCSuccess)
	a.Fence()
	if string(a.Buf[:4]) != "zero" {
		t.Errorf("got %q", a.Buf[:4])
	}
	wr.RemoteAddr = 58
	a.Ends(wr, verbs.WCRemAccessErr)
}

func TestReregGivesOtherMemoryUnderAnotherKey(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	key, other := b.MR.RKey(), make([]byte, 128)
	if err := b.MR.Rereg(verbs.ReregBuf(other), verbs.ReregAccess(verbs.LocalWrite|verbs.RemoteWrite)); err != nil {
		t.Fatal(err)
	}
	if b.MR.RKey() == key || b.MR.Len() != 128 {
		t.Errorf("key %#x as before %#x, %d bytes", b.MR.RKey(), key, b.MR.Len())
	}
	copy(a.Buf, "moved")
	a.Ends(a.OneSided(verbs.WRWrite, b, 5), verbs.WCSuccess)
	b.Fence()
	if string(other[:5]) != "moved" || !bytes.Equal(b.Buf, make([]byte, 64)) {
		t.Errorf("the former memory has %q, the present %q", b.Buf[:5], other[:5])
	}
	wr := a.OneSided(verbs.WRWrite, b, 5)
	wr.RKey = key
	a.Ends(wr, verbs.WCRemAccessErr)
}

func TestReregToAnotherDomain(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	verbstest.MustFail(t, b.MR.Rereg(verbs.ReregPD(a.PD)), "on another device")
	verbstest.MustFail(t, b.MR.Rereg(), "name at least one")
	verbstest.MustFail(t, b.MR.Rereg(verbs.ReregAccess(verbs.RemoteWrite)), "requires LOCAL_WRITE")
	a.Ends(a.OneSided(verbs.WRWrite, b, 5), verbs.WCSuccess)
	if err := b.MR.Rereg(verbs.ReregPD(b.Device.AllocPD())); err != nil {
		t.Fatal(err)
	}
	a.Ends(a.OneSided(verbs.WRWrite, b, 5), verbs.WCRemAccessErr)
}

func TestFastRegionAsLocalMemory(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	f, err := a.PD.AllocFastMR(32)
	if err != nil {
		t.Fatal(err)
	}
	reg := f.Reg([]byte("fast source"), 0)
	a.Post(&verbs.SendWR{Opcode: verbs.WRRegMR, Reg: reg})
	wr := a.OneSided(verbs.WRWrite, b, 0)
	wr.SGList = []verbs.SGE{{Addr: reg.IOVA, Length: 11, LKey: reg.NewKey}}
	a.Ends(wr, verbs.WCSuccess)
	if f.Key() != reg.NewKey || !f.Registered() {
		t.Errorf("key %#x, want %#x", f.Key(), reg.NewKey)
	}
	b.Fence()
	if string(b.Buf[:11]) != "fast source" {
		t.Errorf("b has %q", b.Buf[:11])
	}
	if err := f.Dereg(); err != nil {
		t.Fatal(err)
	}
	a.Ends(wr, verbs.WCLocProtErr)
}

func TestMessagesOf32Pieces(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 32*1024)
	sizes := verbs.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 32, MaxRecvSGE: 32}
	wide := func(n *verbstest.Node) (*verbs.QP, verbs.ConnInfo) {
		q, err := n.PD.CreateQP(verbs.QPInitAttr{SendCQ: n.CQ, Cap: sizes})
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
	a.QP, ai = wide(a)
	b.QP, bi = wide(b)
	verbstest.ConnectQPs(t, a.QP, b.QP, ai, bi)
	// Pieces of 0 to 31 times 33 bytes, in reverse order of their offsets: nothing is aligned.
	pieces := func(n *verbstest.Node) (sg []verbs.SGE, total int) {
		for i := range 32 {
			sg = append(sg, n.MR.SGE((31-i)*1024, i*33))
			total += i * 33
		}
		return sg, total
	}
	for i := range a.Buf {
		a.Buf[i] = byte(i * 7)
	}
	sg, total := pieces(a)
	dst, _ := pieces(b)
	same := func(what string) {
		t.Helper()
		a.Fence()
		b.Fence()
		for i := range 32 {
			at := (31 - i) * 1024
			if !bytes.Equal(a.Buf[at:at+i*33], b.Buf[at:at+i*33]) {
				t.Errorf("%s: piece %d differs", what, i)
			}
		}
	}
	if err := b.QP.PostRecv(&verbs.RecvWR{SGList: dst}); err != nil {
		t.Fatal(err)
	}
	a.Ends(&verbs.SendWR{Opcode: verbs.WRSend, SGList: sg}, verbs.WCSuccess)
	var wc [1]verbs.WC
	if _, err := b.CQ.Wait(t.Context(), wc[:]); err != nil || wc[0].ByteLen != uint32(total) {
		t.Fatalf("received %d bytes of %d, %v", wc[0].ByteLen, total, err)
	}
	same("SEND")

	// A WRITE gathers what a READ has scattered.
	want := bytes.Repeat([]byte("0123456789"), 32*1024/10+1)[:total]
	copy(b.Buf, want)
	read := &verbs.SendWR{Opcode: verbs.WRRead, SGList: sg, RemoteAddr: b.MR.Addr(), RKey: b.MR.RKey()}
	a.Ends(read, verbs.WCSuccess)
	clear(b.Buf)
	read.Opcode = verbs.WRWrite
	a.Ends(read, verbs.WCSuccess)
	b.Fence()
	if !bytes.Equal(b.Buf[:total], want) {
		t.Error("what went out by READ and came back by WRITE differs")
	}
	verbstest.MustFail(t, a.QP.PostSend(&verbs.SendWR{Opcode: verbs.WRSend,
		SGList: append(sg, a.MR.SGE(0, 1))}), "33 SGEs")
}
