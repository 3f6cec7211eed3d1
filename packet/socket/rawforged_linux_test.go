package socket

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/vishvananda/netlink"
)

func TestRawTakesWhatIsForItsHostAlone(t *testing.T) {
	hosts, _, b := rawPair(t, rawCable)
	f := linktest.NewForger(t, hosts, netip.MustParsePrefix(rawCable.Left[0]).Addr())
	f.Send(b.Local(), "ready", nil)
	for linktest.Next(t, b) != "ready" { // after what rawPair sent
	}
	f.Send(b.Local(), "to another host's Ethernet address",
		func(h *encap.Header) { h.DstMAC = encap.MAC{2, 0, 0, 0, 48, 9} })
	f.Send(b.Local().Next(), "to another address", nil)
	f.Send(b.Local(), "a first fragment", func(h *encap.Header) { h.FlagsFragment = 0x2000 })
	f.Send(b.Local(), "a last fragment", func(h *encap.Header) { h.FlagsFragment = 1 })
	f.Send(b.Local(), "from itself", func(h *encap.Header) { h.Src = b.Local() })
	f.Send(b.Local(), "from a loopback address", func(h *encap.Header) { h.Src = netip.MustParseAddr("127.0.0.1") })
	f.Send(b.Local(), "good", nil)
	if got := linktest.Next(t, b); got != "good" {
		t.Errorf("received what was sent %s", got)
	}
	if s := b.Stats(); s.RxMalformed != 2 { // those that the socket filter accepted
		t.Errorf("%+v", s)
	}
}

// Hosts on the wire must not reach a socket at a loopback address. For other sockets the kernel's
// IP stack ensures that, but packet sockets bypass it.
func TestRawLoopbackAddressesAreNotReachedFromTheWire(t *testing.T) {
	hosts := testnet.Connect(t, rawCable)
	f := linktest.NewForger(t, hosts, netip.MustParsePrefix(rawCable.Left[0]).Addr())
	for _, test := range []struct{ at, from string }{{"127.48.0.3", "127.48.0.4"}, {"::1", "::1"}} {
		var at, from packet.Link
		testnet.In(t, hosts.Right, func() error {
			lo, err := netlink.LinkByName("lo")
			if err == nil {
				err = netlink.LinkSetUp(lo)
			}
			if err == nil {
				at, err = ListenRaw(netip.MustParseAddr(test.at), RawOptions{})
			}
			from = at
			if err == nil && test.from != test.at {
				from, err = ListenRaw(netip.MustParseAddr(test.from), RawOptions{})
			}
			return err
		})
		f.Send(at.Local(), "from the wire", func(h *encap.Header) { h.Src = from.Local() })
		batch := packet.NewBatch(1)
		frame := batch.AppendFrame()
		frame.Path, frame.Payload = &packet.Path{Dst: at.Local()}, append(frame.Payload, []byte("good"))
		from.Prepare(batch)
		if err := from.Send(batch); err != nil {
			t.Fatal(err)
		}
		if got := linktest.Next(t, at); got != "good" {
			t.Errorf("%s received what came %s", test.at, got)
		}
		at.Close()
		from.Close()
	}
}

// An ordinary socket of the host accepts the frames of a raw link, with checksums completed by a
// device.
func TestRawFramesAreUnderstoodByAPlainSocket(t *testing.T) {
	hosts, a, _ := rawPair(t, rawCable)
	var conn *net.UDPConn
	testnet.In(t, hosts.Right, func() (err error) {
		testnet.OnInterface(t, hosts.Right, func(l netlink.Link) error {
			return netlink.AddrAdd(l,
				&netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(198, 18, 48, 3), Mask: net.CIDRMask(24, 32)}})
		})
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(198, 18, 48, 3), Port: packet.Port})
		return err
	})
	defer conn.Close()
	to := netip.MustParseAddr("198.18.48.3")
	buf := make([]byte, 2048)
	before := a.tx.stats.TxFrames.Load()
	for a.tx.stats.TxFrames.Load() < before+64 {
		sendEqual(t, a, to, 8, 1000)
		for range 8 {
			if n, err := conn.Read(buf); err != nil || n != 1000 {
				t.Fatalf("received %d bytes (%v)", n, err)
			}
		}
	}
}
