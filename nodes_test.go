package gorxe_test

import (
	"errors"
	"net/netip"
	"runtime"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/internal/record/recordtest"
	"github.com/gorxe/gorxe/packet"
)

// udpAddrs are loopback addresses that no other package's tests use.
var udpAddrs = [2]string{"127.55.4.1", "127.55.4.2"}

// pipeLinks returns two links on a network in memory.
func pipeLinks(t testing.TB) [2]gorxe.Config {
	t.Helper()
	n := packet.NewPipeNet()
	var out [2]gorxe.Config
	for i, a := range []string{"192.0.2.1", "192.0.2.2"} {
		l, err := n.Open(netip.MustParseAddr(a), 9000)
		if err != nil {
			t.Fatal(err)
		}
		out[i].Links = []packet.Link{l}
	}
	return out
}

func udpDevices(t testing.TB) [2]gorxe.Config {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	return [2]gorxe.Config{{Device: udpAddrs[0]}, {Device: udpAddrs[1]}}
}

// A testNode is one end of a connection in tests.
type testNode struct {
	testing.TB
	dev  *gorxe.Device
	pd   *gorxe.PD
	cq   *gorxe.CQ
	mr   *gorxe.MR
	buf  []byte
	qp   *gorxe.QP
	info gorxe.ConnInfo
}

var testCap = gorxe.QPCap{MaxSendWR: 256, MaxRecvWR: 256, MaxSendSGE: 2, MaxRecvSGE: 2}

func openNode(t testing.TB, cfg gorxe.Config, size int) *testNode {
	t.Helper()
	n := &testNode{TB: t, buf: make([]byte, size)}
	if _, measured := t.(*testing.B); !measured && cfg.Wrap == nil {
		recent := recordtest.Keep(t)
		cfg.Wrap = func(l packet.Link) packet.Link { return recent.Wrap("", l) }
	}
	var err error
	if n.dev, err = gorxe.Open(cfg); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("another program has the port of this test: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.dev.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	n.pd = n.dev.AllocPD()
	if n.cq, err = n.dev.CreateCQ(1 << 16); err != nil {
		t.Fatal(err)
	}
	if n.mr, err = n.pd.RegMR(n.buf, gorxe.LocalWrite|gorxe.RemoteWrite|gorxe.RemoteRead); err != nil {
		t.Fatal(err)
	}
	n.qp, n.info = n.newQP()
	return n
}

func (n *testNode) newQP() (*gorxe.QP, gorxe.ConnInfo) {
	n.Helper()
	q, err := n.pd.CreateQP(gorxe.QPInitAttr{SendCQ: n.cq, Cap: testCap})
	if err != nil {
		n.Fatal(err)
	}
	info, err := q.Local(0, 0xfffff0)
	if err != nil {
		n.Fatal(err)
	}
	return q, info
}

// connectedNodes are two nodes with buffers of size bytes.
func connectedNodes(t testing.TB, cfg [2]gorxe.Config, size int) (a, b *testNode) {
	t.Helper()
	a, b = openNode(t, cfg[0], size), openNode(t, cfg[1], size)
	connectQPs(t, a.qp, b.qp, a.info, b.info)
	return a, b
}

func connectQPs(t testing.TB, a, b *gorxe.QP, ai, bi gorxe.ConnInfo) {
	t.Helper()
	if err := errors.Join(a.Connect(ai, bi, gorxe.DefaultConnAttr()), b.Connect(bi, ai, gorxe.DefaultConnAttr())); err != nil {
		t.Fatal(err)
	}
}

// wait takes n completions, which must be successes.
func (n *testNode) wait(count int, wc []gorxe.WC) {
	for count > 0 {
		k, err := n.cq.Wait(n.Context(), wc[:min(count, len(wc))])
		if err != nil {
			n.Fatal(err)
		}
		for i := range wc[:k] {
			if wc[i].Status != gorxe.WCSuccess {
				n.Fatalf("work request %d ended with %s: %v; last error of the host: %v", wc[i].WRID, wc[i].Status.Name(), wc[i].Status, n.dev.SendError())
			}
		}
		count -= k
	}
}

// fence orders this goroutine's reads and writes of n's buffer with those of n's device.
// Packets do that too, but over a socket the race detector does not see it.
func (n *testNode) fence() { n.qp.State() }

func (n *testNode) oneSided(op gorxe.WROpcode, peer *testNode, size int) *gorxe.SendWR {
	return &gorxe.SendWR{
		Opcode: op, Flags: gorxe.Signaled, SGList: []gorxe.SGE{n.mr.SGE(0, size)},
		RemoteAddr: peer.mr.Addr(), RKey: peer.mr.RKey(),
	}
}
