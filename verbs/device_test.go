package verbs_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestOpenSaysWhatIsWrong(t *testing.T) {
	small, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 576)
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	for _, c := range []struct {
		name  string
		cfg   verbs.Config
		words []string
	}{
		{"nothing given", verbs.Config{}, []string{"Device", "Links"}},
		{"both given", verbs.Config{Device: "lo", Links: []packet.Link{small}}, []string{"Device", "Links", "one"}},
		{"no such interface", verbs.Config{Device: "nosuch0"}, []string{"nosuch0", "there are"}},
		{"no network", verbs.Config{
			Device: "lo", Peers: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), {}},
		}, []string{"Peers", "Config.Peers[1]"}},
		{"not our address", verbs.Config{Device: "203.0.113.77"},
			[]string{"203.0.113.77", "not an address of this host"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := verbs.Open(c.cfg)
			if err == nil {
				d.Close()
			}
			verbstest.MustMention(t, err, c.words...)
		})
	}
}

func TestGIDTable(t *testing.T) {
	d := verbstest.OpenPipe(t, 1500, "192.0.2.1", "2001:db8::1", "fe80::1%lo")
	want := []verbs.GIDEntry{
		{Index: 0, GID: verbs.GID{10: 0xff, 11: 0xff, 12: 192, 14: 2, 15: 1}, Addr: netip.MustParseAddr("192.0.2.1")},
		{Index: 1, GID: verbs.GID{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: 1}, Addr: netip.MustParseAddr("2001:db8::1")},
		{Index: 2, GID: verbs.GID{0: 0xfe, 1: 0x80, 15: 1}, Addr: netip.MustParseAddr("fe80::1%lo")},
	}
	for i := range want {
		want[i].Type, want[i].Link, want[i].MTU = "RoCE v2", "pipe", 1024
	}
	if d := cmp.Diff(want, d.GIDs(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Errorf("GID table (-want +got):\n%s", d)
	}
	_, err := d.GID(3)
	verbstest.MustMention(t, err, "3", "0 (::ffff:192.0.2.1)", "1 (2001:db8::1)", "2 (fe80::1)")
}

// As rxe: the largest of 256 to 4096 that is at most the netdev's MTU - 80.
func TestActiveMTU(t *testing.T) {
	for netdev, want := range map[int]verbs.MTU{1400: 1024, 1500: 1024, 4175: 2048, 4176: 4096, 9000: 4096,
		65535: 4096, 576: 256} {
		if got := verbstest.OpenPipe(t, netdev, "192.0.2.1").PortAttr().ActiveMTU; got != want {
			t.Errorf("active MTU of a netdev with MTU %d is %v, want %v", netdev, got, want)
		}
	}
}

func TestInstancesDiffer(t *testing.T) {
	a, b := verbstest.OpenPipe(t, 1500, "192.0.2.1"), verbstest.OpenPipe(t, 1500, "192.0.2.1")
	if a.NodeGUID() == b.NodeGUID() || a.NodeGUID() == 0 {
		t.Errorf("node GUIDs %#x and %#x: a peer's connection manager tells instances apart by them", a.NodeGUID(),
			b.NodeGUID())
	}
}

func TestCreateSaysWhatIsWrong(t *testing.T) {
	d, other := verbstest.OpenPipe(t, 1500, "192.0.2.1"), verbstest.OpenPipe(t, 1500, "192.0.2.1")
	pd := d.AllocPD()
	cq, err := d.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		init  verbs.QPInitAttr
		words []string
	}{
		{"no CQ", verbs.QPInitAttr{}, []string{"SendCQ", "CreateCQ"}},
		{"another device's CQ", verbs.QPInitAttr{SendCQ: foreign}, []string{"another device"}},
		{"another device's receive CQ", verbs.QPInitAttr{SendCQ: cq, RecvCQ: foreign}, []string{"another device"}},
		{"too deep", verbs.QPInitAttr{SendCQ: cq, Cap: verbs.QPCap{MaxSendWR: 1 << 20}},
			[]string{"MaxSendWR", "1048576", "65536"}},
		{"too many SGEs", verbs.QPInitAttr{SendCQ: cq, Cap: verbs.QPCap{MaxRecvSGE: 33}},
			[]string{"MaxRecvSGE", "33", "32"}},
		{"negative", verbs.QPInitAttr{SendCQ: cq, Cap: verbs.QPCap{MaxInline: -1}}, []string{"MaxInline", "-1"}},
		{"a type that is not there", verbs.QPInitAttr{SendCQ: cq, Type: 9}, []string{"type", "RC"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := pd.CreateQP(c.init)
			verbstest.MustMention(t, err, c.words...)
		})
	}
	_, err = d.CreateCQ(0)
	verbstest.MustMention(t, err, "depth 0")
	_, err = pd.RegMR(make([]byte, 8), verbs.RemoteWrite)
	verbstest.MustMention(t, err, "LOCAL_WRITE")
	if err := cq.Close(); err != nil {
		t.Errorf("closing the CQ after failed CreateQPs: %v", err)
	}
}

func TestMaxQP(t *testing.T) {
	n := pipe.NewNet()
	l, err := n.Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	x := verbstest.Open(t, verbs.Config{Links: []packet.Link{l}, MaxQP: 2}, 4096)
	second, _ := x.NewQP()
	_, err = x.PD.CreateQP(verbs.QPInitAttr{SendCQ: x.CQ})
	verbstest.MustMention(t, err, "2 queue pairs", "MaxQP")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third, _ := x.NewQP()
	if third.QPN() == second.QPN() {
		t.Errorf("number %#x came back at once", uint32(third.QPN()))
	}
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(local, remote *verbs.ConnInfo, attr *verbs.ConnAttr)
		words  []string
	}{
		{"a GID that is not ours", func(l, _ *verbs.ConnInfo, _ *verbs.ConnAttr) { l.GID[15] = 99 },
			[]string{"192.0.2.99", "0 (::ffff:192.0.2.1)"}},
		{"a path MTU too large for the link", func(_, _ *verbs.ConnInfo, a *verbs.ConnAttr) { a.PathMTU = 4096 },
			[]string{"4096", "192.0.2.1", "1500", "1024"}},
		{"a peer of the other address family", func(_, r *verbs.ConnInfo, _ *verbs.ConnAttr) {
			r.GID = verbs.GID{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 15: 1}
		}, []string{"2001:db8::1", "IPv6", "192.0.2.1"}},
		{"a peer without address", func(_, r *verbs.ConnInfo, _ *verbs.ConnAttr) { r.GID = verbs.GID{} },
			[]string{"::"}},
		{"a multicast peer", func(_, r *verbs.ConnInfo, _ *verbs.ConnAttr) { r.GID[12] = 224 }, []string{"224.0.2.2"}},
		{"a path MTU that IBA does not know", func(_, _ *verbs.ConnInfo, a *verbs.ConnAttr) { a.PathMTU = 1000 },
			[]string{"1000", "256"}},
		{"a timeout out of range", func(_, _ *verbs.ConnInfo, a *verbs.ConnAttr) { a.Timeout = 32 },
			[]string{"TIMEOUT", "32", "31"}},
		{"a retry count out of range", func(_, _ *verbs.ConnInfo, a *verbs.ConnAttr) { a.RetryCnt = 8 },
			[]string{"RETRY_CNT", "8", "7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := pipe.NewNet()
			l, err := n.Open(netip.MustParseAddr("192.0.2.1"), 1500)
			if err != nil {
				t.Fatal(err)
			}
			x := verbstest.Open(t, verbs.Config{Links: []packet.Link{l}}, 4096)
			local, attr := x.Info, verbs.DefaultConnAttr()
			remote := verbs.ConnInfo{QPN: 77, GID: verbs.GID{10: 0xff, 11: 0xff, 12: 192, 14: 2, 15: 2}, MTU: 1024}
			c.change(&local, &remote, &attr)
			verbstest.MustMention(t, x.QP.Connect(local, remote, attr), c.words...)
		})
	}
}

func TestPostErrors(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 4096)
	wr := a.OneSided(verbs.WRWrite, b, 64)
	bad := *wr
	bad.SGList = make([]verbs.SGE, 3)

	err := a.QP.PostSend(wr, &bad)
	var post *verbs.PostError
	if !errors.As(err, &post) || post.Index != 1 {
		t.Errorf("the error is %v, want a PostError for index 1", err)
	}
	verbstest.MustMention(t, err, "work request 1", "3 SGEs", "2")

	fresh, _ := a.NewQP()
	verbstest.MustMention(t, fresh.PostSend(wr), "RESET", "RTS")
	verbstest.MustMention(t, fresh.PostRecv(&verbs.RecvWR{}), "RESET", "INIT")
}

func TestAfterClose(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 4096)
	if err := a.Device.Close(); err != nil {
		t.Fatal(err)
	}
	_, cqErr := a.Device.CreateCQ(1)
	_, qpErr := a.PD.CreateQP(verbs.QPInitAttr{SendCQ: a.CQ})
	_, mrErr := a.PD.RegMR(nil, 0)
	_, waitErr := a.CQ.Wait(context.Background(), make([]verbs.WC, 1))
	for name, err := range map[string]error{
		"PostSend": a.QP.PostSend(a.OneSided(verbs.WRWrite, b, 8)), "PostRecv": a.QP.PostRecv(&verbs.RecvWR{}),
		"Modify": a.QP.Modify(&verbs.QPAttr{State: verbs.RESET}, verbs.AttrState), "CreateCQ": cqErr, "CreateQP": qpErr,
		"RegMR": mrErr, "Wait": waitErr,
	} {
		if !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
	if err := a.MR.Dereg(); err != nil {
		t.Errorf("Dereg after Close = %v", err)
	}
	if err := errors.Join(a.QP.Close(), a.CQ.Close(), a.Device.Close()); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestRegions(t *testing.T) {
	d := verbstest.OpenPipe(t, 1500, "192.0.2.1")
	pd := d.AllocPD()
	buf := []byte("0123456789abcdef")
	at, err := pd.RegMR(buf, 0, verbs.WithIOVA(0x4000))
	if err != nil {
		t.Fatal(err)
	}
	own, err := pd.RegMR(buf, verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if at.Addr() != 0x4000 || own.Addr() == 0x4000 || own.Addr() == 0 {
		t.Errorf("addresses %#x and %#x", at.Addr(), own.Addr())
	}
	if at.LKey() == own.LKey() || at.Len() != 16 {
		t.Errorf("keys %#x and %#x, length %d", at.LKey(), own.LKey(), at.Len())
	}
	if s := at.SGE(3, 5); s.Addr != 0x4003 || s.Length != 5 || s.LKey != at.LKey() {
		t.Errorf("SGE = %+v", s)
	}
	if at.LoadByte(10) != 'a' || at.LoadByte(16) != 0 || at.LoadByte(-1) != 0 || at.LoadUint64(9) != 0 {
		t.Error("LoadByte or LoadUint64 reads the wrong bytes")
	}
	if err := at.Dereg(); err != nil {
		t.Error(err)
	}
	verbstest.MustMention(t, at.Dereg(), "not registered")
	if _, err := pd.RegMemory(nil, 0); err == nil {
		t.Error("registering nothing succeeded")
	}
}
