package verbs_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

const udQKey = 0x0badcafe &^ (1 << 31)

// datagramNode opens a device with a queue pair for datagrams.
func datagramNode(t testing.TB, cfg verbs.Config, size int) *testNode {
	t.Helper()
	n := openNode(t, cfg, size)
	n.qp = n.newDatagramQP(udQKey)
	return n
}

func (n *testNode) newDatagramQP(qkey uint32) *verbs.QP {
	n.Helper()
	q, err := n.pd.CreateQP(verbs.QPInitAttr{Type: verbs.UD, SendCQ: n.cq, Cap: testCap})
	if err != nil {
		n.Fatal(err)
	}
	if err := q.StartDatagrams(qkey, 5); err != nil {
		n.Fatal(err)
	}
	return q
}

// datagram is a signaled send of the first size bytes of n's buffer to peer's queue pair.
func (n *testNode) datagram(peer *testNode, size int) *verbs.SendWR {
	n.Helper()
	gid, err := peer.dev.GID(0)
	if err != nil {
		n.Fatal(err)
	}
	ah, err := n.pd.CreateAH(verbs.AddressVector{DGID: gid.GID})
	if err != nil {
		n.Fatal(err)
	}
	return &verbs.SendWR{
		Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{n.mr.SGE(0, size)},
		AH: ah, RemoteQPN: peer.qp.QPN(), RemoteQKey: udQKey,
	}
}

func (n *testNode) recv(off, size int) {
	n.Helper()
	if err := n.qp.PostRecv(&verbs.RecvWR{ID: uint64(off), SGList: []verbs.SGE{n.mr.SGE(off, size)}}); err != nil {
		n.Fatal(err)
	}
}

func exchangeDatagrams(t *testing.T, a, b *testNode) {
	t.Helper()
	var wc [1]verbs.WC
	for i := range a.buf[:4096] {
		a.buf[i] = byte(i * 7)
	}
	for _, size := range []int{0, 1, 3, 1000, int(a.dev.PortAttr().ActiveMTU)} {
		b.recv(0, verbs.GRHLen+size)
		wr := a.datagram(b, size)
		a.fence()
		if err := a.qp.PostSend(wr); err != nil {
			t.Fatal(err)
		}
		a.wait(1, wc[:])
		b.wait(1, wc[:])
		b.fence()
		if int(wc[0].ByteLen) != verbs.GRHLen+size || wc[0].SrcQP != a.qp.QPN() || wc[0].Flags&verbs.WCGRH == 0 {
			t.Errorf("%d bytes were received as %+v", size, wc[0])
		}
		if !bytes.Equal(b.buf[verbs.GRHLen:verbs.GRHLen+size], a.buf[:size]) {
			t.Errorf("%d bytes: others arrived", size)
		}
		ah, err := b.pd.CreateAHFromWC(&wc[0], b.buf)
		if err != nil {
			t.Fatal(err)
		}
		if gid, _ := a.dev.GID(0); ah.Vector().DGID != gid.GID {
			t.Errorf("the way back leads to %v, not to %v", ah.Vector().DGID, gid.GID)
		}
	}
	if d := b.dev.Counters()["drop_bad_icrc"]; d > 0 {
		t.Errorf("%d packets with a wrong ICRC", d)
	}
}

func TestDatagramsOverUDP(t *testing.T) {
	cfg := udpDevices(t)
	exchangeDatagrams(t, datagramNode(t, cfg[0], 8192), datagramNode(t, cfg[1], 8192))
}

func TestDatagramsToItselfOverIPv6(t *testing.T) {
	if _, _, _, err := packet.HostAddrs("::1"); err != nil {
		t.Skipf("no IPv6 loopback address: %v", err)
	}
	a := datagramNode(t, verbs.Config{Device: "::1"}, 8192)
	b := *a
	var err error
	b.buf = make([]byte, 8192)
	if b.cq, err = a.dev.CreateCQ(64); err != nil {
		t.Fatal(err)
	}
	if b.mr, err = b.pd.RegMR(b.buf, verbs.LocalWrite); err != nil {
		t.Fatal(err)
	}
	b.qp = b.newDatagramQP(udQKey)
	exchangeDatagrams(t, a, &b)
}

// IBA C10-93.1.1, and what rxe does: a datagram over the MTU is sent successfully to nobody.
func TestDatagramOverTheMTU(t *testing.T) {
	cfg := pipeLinks(t)
	a, b := datagramNode(t, cfg[0], 8192), datagramNode(t, cfg[1], 8192)
	var wc [1]verbs.WC
	b.recv(0, 8192)
	for _, size := range []int{4097, 4096} {
		if err := a.qp.PostSend(a.datagram(b, size)); err != nil {
			t.Fatal(err)
		}
		a.wait(1, wc[:])
	}
	b.wait(1, wc[:])
	if wc[0].ByteLen != verbs.GRHLen+4096 {
		t.Errorf("received %+v, want the datagram of 4096 bytes", wc[0])
	}
	if n := a.qp.Counters().OversizeDatagrams; n != 1 {
		t.Errorf("%d datagrams over the MTU are counted, want 1", n)
	}
}

func TestDatagramCallsSayWhatIsWrong(t *testing.T) {
	cfg := pipeLinks(t)
	a, b := datagramNode(t, cfg[0], 8192), openNode(t, cfg[1], 64)
	_, err := a.pd.CreateQP(verbs.QPInitAttr{Type: 1, SendCQ: a.cq})
	says(t, err, "GSI", "UD")
	says(t, b.qp.StartDatagrams(1, 1), "RC", "UD")
	_, err = a.pd.CreateAH(verbs.AddressVector{})
	says(t, err, "address handle", "not the GID of a peer")
	_, err = a.pd.CreateAHFromWC(&verbs.WC{}, a.buf)
	says(t, err, "GRH")
	_, err = a.pd.CreateAHFromWC(&verbs.WC{Flags: verbs.WCGRH}, a.buf[:39])
	says(t, err, "39 bytes", "40")
	_, err = a.pd.CreateAHFromWC(&verbs.WC{Flags: verbs.WCGRH}, a.buf)
	says(t, err, "not the network header")

	wr := a.datagram(a, 1)
	for _, c := range []struct {
		change func(*verbs.SendWR)
		words  []string
	}{
		{func(w *verbs.SendWR) { w.AH = nil }, []string{"AH"}},
		{func(w *verbs.SendWR) { w.AH = (*verbs.AH)(nil) }, []string{"AH", "domain"}},
		{func(w *verbs.SendWR) { w.AH = b.datagram(a, 1).AH }, []string{"AH", "domain"}},
		{func(w *verbs.SendWR) { w.Opcode = verbs.WRWrite }, []string{"RDMA_WRITE", "UD"}},
	} {
		bad := *wr
		c.change(&bad)
		err := a.qp.PostSend(&bad)
		says(t, err, c.words...)
		if _, ok := errors.AsType[*verbs.PostError](err); !ok {
			t.Errorf("%v is not a PostError", err)
		}
	}
}

func TestDatagramsAllocateNothing(t *testing.T) {
	for _, link := range []struct {
		name string
		cfg  func(testing.TB) [2]verbs.Config
	}{{"pipe", pipeLinks}, {"udp", udpDevices}} {
		t.Run(link.name, func(t *testing.T) {
			const size, messages = 1024, 8
			cfg := link.cfg(t)
			a, b := datagramNode(t, cfg[0], 8192), datagramNode(t, cfg[1], 8192)
			wr := a.datagram(b, size)
			recv := &verbs.RecvWR{SGList: []verbs.SGE{b.mr.SGE(0, 4096)}}
			var wc [messages]verbs.WC
			round := func() {
				for range messages {
					if err := errors.Join(b.qp.PostRecv(recv), a.qp.PostSend(wr)); err != nil {
						t.Fatal(err)
					}
				}
				a.wait(messages, wc[:])
				b.wait(messages, wc[:])
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
