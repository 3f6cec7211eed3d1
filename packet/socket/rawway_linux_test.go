package socket

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
)

// rawPair opens two links that have resolved each other.
func rawPair(t *testing.T, cable testnet.Cable) (hosts *testnet.Hosts, a, b *raw) {
	t.Helper()
	hosts = testnet.Connect(t, cable)
	open := func(addr string) (l *raw) {
		opened, err := ListenRaw(netip.MustParsePrefix(addr).Addr(), RawOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close() })
		return opened.(*raw)
	}
	testnet.In(t, hosts.Left, func() error { a = open(cable.Left[0]); return nil })
	testnet.In(t, hosts.Right, func() error { b = open(cable.Right[0]); return nil })
	for end := time.Now().Add(time.Minute); a.hops.To(b.Local()) == nil; runtime.Gosched() {
		sendEqual(t, a, b.Local(), 1, 100)
		if time.Now().After(end) {
			t.Fatal("the next hop does not become known")
		}
	}
	return hosts, a, b
}

var rawCable = testnet.Cable{MTU: 9000, Left: []string{"198.18.48.1/24"}, Right: []string{"198.18.48.2/24"}}

// sendEqual sends n frames of size bytes.
func sendEqual(t *testing.T, l packet.Link, to netip.Addr, n, size int) {
	t.Helper()
	b := packet.NewBatch(n)
	path := &packet.Path{Dst: to}
	for range n {
		f := b.AppendFrame()
		f.Path = path
		f.Payload = append(f.Payload, make([]byte, size))
	}
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
}

func TestRawFramesLeaveByThePacketSocket(t *testing.T) {
	_, a, b := rawPair(t, rawCable)
	before, byUDP := a.tx.stats.Load(), a.udp.Stats()
	sendEqual(t, a, b.Local(), 32, 4096)
	after := a.tx.stats.Load()
	if got := after.TxFrames - before.TxFrames; got != 32 {
		t.Errorf("%d frames left by the packet socket, want 32", got)
	}
	if got := after.TxCalls - before.TxCalls; got != 1 {
		t.Errorf("%d calls, want 1", got)
	}
	if a.udp.Stats() != byUDP {
		t.Errorf("the UDP socket sent: %+v", a.udp.Stats())
	}
	if !a.trains.Load() {
		t.Error("the kernel refused a train")
	}
}
