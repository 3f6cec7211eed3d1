package verbstest

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

// udpAddrs are loopback addresses that only the tests of package verbs use, because tests of
// different packages run in parallel.
var udpAddrs = [2]string{"127.55.4.1", "127.55.4.2"}

// PipeLinks returns the configurations of two devices, each with one link on the same network in
// memory.
func PipeLinks(t testing.TB) [2]verbs.Config {
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

// UDPDevices returns the configurations of two devices on loopback addresses. Only the tests of
// package verbs may use these addresses.
func UDPDevices(t testing.TB) [2]verbs.Config {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	return [2]verbs.Config{{Device: udpAddrs[0]}, {Device: udpAddrs[1]}}
}

// A Node is one end of a connection: a device with a queue pair and one registered buffer.
type Node struct {
	testing.TB
	Device *verbs.Device
	PD     *verbs.PD
	CQ     *verbs.CQ
	MR     *verbs.MR
	Buf    []byte
	QP     *verbs.QP
	Info   verbs.ConnInfo // of QP
}

// Cap holds the capacities of the queue pairs of nodes.
var Cap = verbs.QPCap{MaxSendWR: 256, MaxRecvWR: 256, MaxSendSGE: 2, MaxRecvSGE: 2}

// Open opens a node with a buffer of size bytes. Its device is closed at the end of the test.
func Open(t testing.TB, cfg verbs.Config, size int) *Node {
	t.Helper()
	n := &Node{TB: t, Buf: make([]byte, size)}
	if _, measured := t.(*testing.B); !measured && cfg.Wrap == nil {
		recent := recordtest.Keep(t)
		cfg.Wrap = func(l packet.Link) packet.Link { return recent.Wrap("", l) }
	}
	var err error
	if n.Device, err = verbs.Open(cfg); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("another program has the port of this test: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Device.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	n.PD = n.Device.AllocPD()
	if n.CQ, err = n.Device.CreateCQ(1 << 16); err != nil {
		t.Fatal(err)
	}
	if n.MR, err = n.PD.RegMR(n.Buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	n.QP, n.Info = n.NewQP()
	return n
}

// NewQP returns another RC queue pair of n in RESET, and its ConnInfo.
func (n *Node) NewQP() (*verbs.QP, verbs.ConnInfo) {
	n.Helper()
	q, err := n.PD.CreateQP(verbs.QPInitAttr{SendCQ: n.CQ, Cap: Cap})
	if err != nil {
		n.Fatal(err)
	}
	info, err := q.Local(0, 0xfffff0)
	if err != nil {
		n.Fatal(err)
	}
	return q, info
}

// Connected returns two connected nodes with buffers of size bytes.
func Connected(t testing.TB, cfg [2]verbs.Config, size int) (a, b *Node) {
	t.Helper()
	a, b = Open(t, cfg[0], size), Open(t, cfg[1], size)
	ConnectQPs(t, a.QP, b.QP, a.Info, b.Info)
	return a, b
}

// ConnectQPs moves two RC queue pairs to RTS.
func ConnectQPs(t testing.TB, a, b *verbs.QP, ai, bi verbs.ConnInfo) {
	t.Helper()
	if err := errors.Join(a.Connect(ai, bi, verbs.DefaultConnAttr()),
		b.Connect(bi, ai, verbs.DefaultConnAttr())); err != nil {
		t.Fatal(err)
	}
}

// Wait waits for count completions, which must be successful. wc is the buffer for them; it may be
// shorter.
func (n *Node) Wait(count int, wc []verbs.WC) {
	for count > 0 {
		k, err := n.CQ.Wait(n.Context(), wc[:min(count, len(wc))])
		if err != nil {
			n.Fatal(err)
		}
		for i := range wc[:k] {
			if wc[i].Status != verbs.WCSuccess {
				n.Fatalf("work request %d ended with %s: %v; last error of the host: %v", wc[i].WRID,
					wc[i].Status.Name(), wc[i].Status, n.Device.SendError())
			}
		}
		count -= k
	}
}

// Fence orders this goroutine's accesses of n's buffer with those of n's device. Packets do that
// too, but the race detector does not see it over a socket.
func (n *Node) Fence() { n.QP.State() }

// OneSided returns a signaled WRITE or READ of the first size bytes of n's buffer and of peer's.
func (n *Node) OneSided(op verbs.WROpcode, peer *Node, size int) *verbs.SendWR {
	return &verbs.SendWR{
		Opcode: op, Flags: verbs.Signaled, SGList: []verbs.SGE{n.MR.SGE(0, size)},
		RemoteAddr: peer.MR.Addr(), RKey: peer.MR.RKey(),
	}
}
