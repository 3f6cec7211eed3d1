package verbs_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func exchangeDatagrams(t *testing.T, a, b *verbstest.Node) {
	t.Helper()
	var wc [1]verbs.WC
	for i := range a.Buf[:4096] {
		a.Buf[i] = byte(i * 7)
	}
	for _, size := range []int{0, 1, 3, 1000, int(a.Device.PortAttr().ActiveMTU)} {
		b.Recv(0, verbs.GRHLen+size)
		wr := a.Datagram(b, size)
		a.Fence()
		if err := a.QP.PostSend(wr); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, wc[:])
		b.Wait(1, wc[:])
		b.Fence()
		if int(wc[0].ByteLen) != verbs.GRHLen+size || wc[0].SrcQP != a.QP.QPN() || wc[0].Flags&verbs.WCGRH == 0 {
			t.Errorf("%d bytes were received as %+v", size, wc[0])
		}
		if !bytes.Equal(b.Buf[verbs.GRHLen:verbs.GRHLen+size], a.Buf[:size]) {
			t.Errorf("%d bytes: others arrived", size)
		}
		ah, err := b.PD.CreateAHFromWC(&wc[0], b.Buf)
		if err != nil {
			t.Fatal(err)
		}
		if gid, _ := a.Device.GID(0); ah.Vector().DGID != gid.GID {
			t.Errorf("the way back leads to %v, not to %v", ah.Vector().DGID, gid.GID)
		}
	}
	if d := b.Device.Counters()["drop_bad_icrc"]; d > 0 {
		t.Errorf("%d packets with a wrong ICRC", d)
	}
}

func TestDatagramsOverUDP(t *testing.T) {
	cfg := verbstest.UDPDevices(t)
	exchangeDatagrams(t, verbstest.OpenDatagram(t, cfg[0], 8192), verbstest.OpenDatagram(t, cfg[1], 8192))
}

func TestDatagramsToItselfOverIPv6(t *testing.T) {
	if _, _, _, err := packet.HostAddrs("::1"); err != nil {
		t.Skipf("no IPv6 loopback address: %v", err)
	}
	a := verbstest.OpenDatagram(t, verbs.Config{Device: "::1"}, 8192)
	b := *a
	var err error
	b.Buf = make([]byte, 8192)
	if b.CQ, err = a.Device.CreateCQ(64); err != nil {
		t.Fatal(err)
	}
	if b.MR, err = b.PD.RegMR(b.Buf, verbs.LocalWrite); err != nil {
		t.Fatal(err)
	}
	b.QP = b.NewDatagramQP(verbstest.QKey)
	exchangeDatagrams(t, a, &b)
}

// IBA C10-93.1.1, and as rxe: a datagram over the MTU completes successfully without being sent.
func TestDatagramOverTheMTU(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.OpenDatagram(t, cfg[0], 8192), verbstest.OpenDatagram(t, cfg[1], 8192)
	var wc [1]verbs.WC
	b.Recv(0, 8192)
	for _, size := range []int{4097, 4096} {
		if err := a.QP.PostSend(a.Datagram(b, size)); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, wc[:])
	}
	b.Wait(1, wc[:])
	if wc[0].ByteLen != verbs.GRHLen+4096 {
		t.Errorf("received %+v, want the datagram of 4096 bytes", wc[0])
	}
	if n := a.QP.Counters().OversizeDatagrams; n != 1 {
		t.Errorf("%d datagrams over the MTU are counted, want 1", n)
	}
}

func TestDatagramCallsSayWhatIsWrong(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.OpenDatagram(t, cfg[0], 8192), verbstest.Open(t, cfg[1], 64)
	_, err := a.PD.CreateQP(verbs.QPInitAttr{Type: 1, SendCQ: a.CQ})
	verbstest.MustMention(t, err, "GSI", "UD")
	verbstest.MustMention(t, b.QP.StartDatagrams(1, 1), "RC", "UD")
	_, err = a.PD.CreateAH(verbs.AddressVector{})
	verbstest.MustMention(t, err, "address handle", "not the GID of a peer")
	_, err = a.PD.CreateAHFromWC(&verbs.WC{}, a.Buf)
	verbstest.MustMention(t, err, "GRH")
	_, err = a.PD.CreateAHFromWC(&verbs.WC{Flags: verbs.WCGRH}, a.Buf[:39])
	verbstest.MustMention(t, err, "39 bytes", "40")
	_, err = a.PD.CreateAHFromWC(&verbs.WC{Flags: verbs.WCGRH}, a.Buf)
	verbstest.MustMention(t, err, "not the network header")

	wr := a.Datagram(a, 1)
	for _, c := range []struct {
		change func(*verbs.SendWR)
		words  []string
	}{
		{func(w *verbs.SendWR) { w.AH = nil }, []string{"AH"}},
		{func(w *verbs.SendWR) { w.AH = (*verbs.AH)(nil) }, []string{"AH", "domain"}},
		{func(w *verbs.SendWR) { w.AH = b.Datagram(a, 1).AH }, []string{"AH", "domain"}},
		{func(w *verbs.SendWR) { w.Opcode = verbs.WRWrite }, []string{"RDMA_WRITE", "UD"}},
	} {
		bad := *wr
		c.change(&bad)
		err := a.QP.PostSend(&bad)
		verbstest.MustMention(t, err, c.words...)
		if _, ok := errors.AsType[*verbs.PostError](err); !ok {
			t.Errorf("%v is not a PostError", err)
		}
	}
}

func TestDatagramsAllocateNothing(t *testing.T) {
	for _, link := range []struct {
		name string
		cfg  func(testing.TB) [2]verbs.Config
	}{{"pipe", verbstest.PipeLinks}, {"udp", verbstest.UDPDevices}} {
		t.Run(link.name, func(t *testing.T) {
			const size, messages = 1024, 8
			cfg := link.cfg(t)
			a, b := verbstest.OpenDatagram(t, cfg[0], 8192), verbstest.OpenDatagram(t, cfg[1], 8192)
			wr := a.Datagram(b, size)
			recv := &verbs.RecvWR{SGList: []verbs.SGE{b.MR.SGE(0, 4096)}}
			var wc [messages]verbs.WC
			round := func() {
				for range messages {
					if err := errors.Join(b.QP.PostRecv(recv), a.QP.PostSend(wr)); err != nil {
						t.Fatal(err)
					}
				}
				a.Wait(messages, wc[:])
				b.Wait(messages, wc[:])
			}
			for range 200 {
				round()
			}
			if n := testing.AllocsPerRun(100, round); n != 0 {
				t.Errorf("%v allocations for %d datagrams, want 0", n, messages)
			}
		})
	}
}
