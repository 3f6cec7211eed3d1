package packet

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet/encap"
	mdpacket "github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
)

// forger sends frames with headers of its choice from the left host to the right.
type forger struct {
	t    *testing.T
	conn *mdpacket.Conn
	h    encap.Header
}

func newForger(t *testing.T, hosts *testnet.Hosts) *forger {
	t.Helper()
	f := &forger{t: t}
	mac := func(to *encap.MAC) func() error {
		return func() error {
			ifc, err := net.InterfaceByName(testnet.Interface)
			if err == nil {
				copy(to[:], ifc.HardwareAddr)
			}
			return err
		}
	}
	testnet.In(t, hosts.Left, mac(&f.h.SrcMAC))
	testnet.In(t, hosts.Right, mac(&f.h.DstMAC))
	testnet.In(t, hosts.Left, func() error {
		ifc, err := net.InterfaceByName(testnet.Interface)
		if err != nil {
			return err
		}
		f.conn, err = mdpacket.Listen(ifc, mdpacket.Raw, 0, nil)
		return err
	})
	t.Cleanup(func() { f.conn.Close() })
	f.h.Src, f.h.HopLimit, f.h.SrcPort = netip.MustParsePrefix(rawCable.Left[0]).Addr(), 64, Port
	return f
}

// send sends text to dst, with the header as change leaves it.
func (f *forger) send(dst netip.Addr, text string, change func(h *encap.Header)) {
	f.t.Helper()
	h := f.h
	h.Dst = dst
	if change != nil {
		change(&h)
	}
	b := make([]byte, h.Len(), h.Len()+len(text))
	h.Put(b, len(text))
	if _, err := f.conn.WriteTo(append(b, text...), &mdpacket.Addr{HardwareAddr: h.DstMAC[:]}); err != nil {
		f.t.Fatal(err)
	}
}

// next is the text of the next frame that comes to l.
func next(t *testing.T, l Link) string {
	t.Helper()
	rb := NewRecvBatch(1)
	if err := l.Recv(rb); err != nil {
		t.Fatal(err)
	}
	return string(rb.Frames[0].Data)
}

func TestRawTakesWhatIsForItsHostAlone(t *testing.T) {
	hosts, _, b := rawPair(t, rawCable)
	f := newForger(t, hosts)
	f.send(b.Local(), "ready", nil)
	for next(t, b) != "ready" { // behind what rawPair sent
	}
	f.send(b.Local(), "to another host's Ethernet address", func(h *encap.Header) { h.DstMAC = encap.MAC{2, 0, 0, 0, 48, 9} })
	f.send(b.Local().Next(), "to another address", nil)
	f.send(b.Local(), "a first fragment", func(h *encap.Header) { h.FlagsFragment = 0x2000 })
	f.send(b.Local(), "a last fragment", func(h *encap.Header) { h.FlagsFragment = 1 })
	f.send(b.Local(), "from itself", func(h *encap.Header) { h.Src = b.Local() })
	f.send(b.Local(), "from a loopback address", func(h *encap.Header) { h.Src = netip.MustParseAddr("127.0.0.1") })
	f.send(b.Local(), "good", nil)
	if got := next(t, b); got != "good" {
		t.Errorf("received what was sent %s", got)
	}
	if s := b.Stats(); s.RxMalformed != 2 { // those that the kernel's filter passed
		t.Errorf("%+v", s)
	}
}

// Whoever is on the wire must not reach what listens on a loopback address: the kernel's IP stack, which sees to that for
// others, is not asked.
func TestRawLoopbackAddressesAreNotReachedFromTheWire(t *testing.T) {
	hosts := testnet.Connect(t, rawCable)
	f := newForger(t, hosts)
	for _, test := range []struct{ at, from string }{{"127.48.0.3", "127.48.0.4"}, {"::1", "::1"}} {
		var at, from Link
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
		f.send(at.Local(), "from the wire", func(h *encap.Header) { h.Src = from.Local() })
		batch := NewBatch(1)
		frame := batch.Next()
		frame.Path, frame.Payload = &Path{Dst: at.Local()}, append(frame.Payload, []byte("good"))
		from.Prepare(batch)
		if err := from.Send(batch); err != nil {
			t.Fatal(err)
		}
		if got := next(t, at); got != "good" {
			t.Errorf("%s received what came %s", test.at, got)
		}
		at.Close()
		from.Close()
	}
}

// A socket of the host that is not told of checksums takes the frames of a raw link, with checksums that a device completed.
func TestRawFramesAreUnderstoodByAPlainSocket(t *testing.T) {
	hosts, a, _ := rawPair(t, rawCable)
	var conn *net.UDPConn
	testnet.In(t, hosts.Right, func() (err error) {
		testnet.OnInterface(t, hosts.Right, func(l netlink.Link) error {
			return netlink.AddrAdd(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(198, 18, 48, 3), Mask: net.CIDRMask(24, 32)}})
		})
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(198, 18, 48, 3), Port: Port})
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

// What AF_XDP takes the kernel's IP stack has not seen, which drops packets under the host's own addresses.
func TestXDPTakesNothingUnderTheHostsOwnAddresses(t *testing.T) {
	hosts := testnet.Connect(t, rawCable)
	var l Link
	testnet.In(t, hosts.Right, func() (err error) {
		l, err = ListenXDP(netip.MustParsePrefix(rawCable.Right[0]).Addr(), XDPOptions{})
		return err
	})
	defer l.Close()
	f := newForger(t, hosts)
	f.send(l.Local(), "ready", nil)
	for next(t, l) != "ready" {
	}
	f.send(l.Local(), "from itself", func(h *encap.Header) { h.Src = l.Local() })
	f.send(l.Local(), "from a loopback address", func(h *encap.Header) { h.Src = netip.MustParseAddr("127.9.9.9") })
	f.send(l.Local(), "from all hosts", func(h *encap.Header) { h.Src = netip.MustParseAddr("255.255.255.255") })
	f.send(l.Local(), "good", nil)
	if got := next(t, l); got != "good" {
		t.Errorf("received what was sent %s", got)
	}
	if s := l.(Counted).Stats(); s.RxMalformed != 3 {
		t.Errorf("%+v", s)
	}
}
