package verbs_test

import (
	"errors"
	"net/netip"
	"runtime"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/record/recordtest"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// udpAddrs are loopback addresses that no other package's tests use.
var udpAddrs = [2]string{"127.55.4.1", "127.55.4.2"}

// pipeLinks returns two links on a network in memory.
func pipeLinks(t testing.TB) [2]verbs.Config {
	t.Helper()
	n := pipe.NewNet()
	var out [2]verbs.Config
	for i, a := range []string{"192.0.2.1", "192.0.2.2"} {
		l, err := n.Open(netip.MustParseAddr(a), 9000)
		if err != nil {
			t.Fatal(err)
		}
		out[i].Links = []packet.Link{l}
	}
	return out
}

func udpDevices(t testing.TB) [2]verbs.Config {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	return [2]verbs.Config{{Device: udpAddrs[0]}, {Device: udpAddrs[1]}}
}

// A testNode is one end of a connection in tests.
type testNode struct {
	testing.TB
	dev  *verbs.Device
	pd   *verbs.PD
	cq   *verbs.CQ
	mr   *verbs.MR
	buf  []byte
	qp   *verbs.QP
	info verbs.ConnInfo
}

var testCap = verbs.QPCap{MaxSendWR: 256, MaxRecvWR: 256, MaxSendSGE: 2, MaxRecvSGE: 2}

func openNode(t testing.TB, cfg verbs.Config, size int) *testNode {
	t.Helper()
	n := &testNode{TB: t, buf: make([]byte, size)}
	if _, measured := t.(*testing.B); !measured && cfg.Wrap == nil {
		recent := recordtest.Keep(t)
		cfg.Wrap = func(l packet.Link) packet.Link { return recent.Wrap("", l) }
	}
	var err error
	if n.dev, err = verbs.Open(cfg); err != nil {
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
	if n.mr, err = n.pd.RegMR(n.buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	n.qp, n.info = n.newQP()
	return n
}

func (n *testNode) newQP() (*verbs.QP, verbs.ConnInfo) {
	n.Helper()
	q, err := n.pd.CreateQP(verbs.QPInitAttr{SendCQ: n.cq, Cap: testCap})
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
func connectedNodes(t testing.TB, cfg [2]verbs.Config, size int) (a, b *testNode) {
	t.Helper()
	a, b = openNode(t, cfg[0], size), openNode(t, cfg[1], size)
	connectQPs(t, a.qp, b.qp, a.info, b.info)
	return a, b
}

func connectQPs(t testing.TB, a, b *verbs.QP, ai, bi verbs.ConnInfo) {
	t.Helper()
	if err := errors.Join(a.Connect(ai, bi, verbs.DefaultConnAttr()), b.Connect(bi, ai, verbs.DefaultConnAttr())); err != nil {
		t.Fatal(err)
	}
}

// wait takes n completions, which must be successes.
func (n *testNode) wait(count int, wc []verbs.WC) {
	for count > 0 {
		k, err := n.cq.Wait(n.Context(), wc[:min(count, len(wc))])
		if err != nil {
			n.Fatal(err)
		}
		for i := range wc[:k] {
			if wc[i].Status != verbs.WCSuccess {
				n.Fatalf("work request %d ended with %s: %v; last error of the host: %v", wc[i].WRID, wc[i].Status.Name(), wc[i].Status, n.dev.SendError())
			}
		}
		count -= k
	}
}

// fence orders this goroutine's reads and writes of n's buffer with those of n's device.
// Packets do that too, but over a socket the race detector does not see it.
func (n *testNode) fence() { n.qp.State() }

func (n *testNode) oneSided(op verbs.WROpcode, peer *testNode, size int) *verbs.SendWR {
	return &verbs.SendWR{
		Opcode: op, Flags: verbs.Signaled, SGList: []verbs.SGE{n.mr.SGE(0, size)},
		RemoteAddr: peer.mr.Addr(), RKey: peer.mr.RKey(),
	}
}
