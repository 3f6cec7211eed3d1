package live

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/trace/capture"
)

// openLive opens a capture. It skips the test if that is not permitted.
func openLive(t *testing.T, name string, idle func()) *Capture {
	t.Helper()
	c, err := Open(name, idle)
	if err != nil && strings.Contains(err.Error(), "CAP_NET_RAW") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say sends a datagram to the RoCEv2 port of an address, and one to another port before it.
func say(t *testing.T, from, to, text string) {
	t.Helper()
	for _, port := range []string{"9", "4791"} {
		conn, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "udp",
			net.JoinHostPort(to, port))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
}

// next reads frames up to one that ends with text.
func next(t *testing.T, c *Capture, text string) capture.Frame {
	t.Helper()
	var f capture.Frame
	for {
		if err := c.Next(&f); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(f.Data), text) {
			return f
		}
	}
}

func TestWhatPassesTheLoopbackIsSeenOnce(t *testing.T) {
	waited := make(chan bool, 1)
	c := openLive(t, "lo", func() {
		select {
		case waited <- true:
		default:
		}
	})
	begin := time.Now()
	say(t, "127.66.9.1", "127.66.9.2", "first of live")
	say(t, "127.66.9.1", "127.66.9.2", "second of live")
	f := next(t, c, "first of live")
	if f.Link != capture.LinkEthernet || f.Interface != "lo" || f.Direction != capture.Unknown ||
		f.Length != 14+20+8+13 || f.Time.Before(begin.Add(-time.Second)) || time.Since(f.Time) < 0 {
		t.Errorf("%+v", f)
	}
	// Other datagrams may be between the two, but not the first again.
	for {
		if err := c.Next(&f); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(f.Data), "first of live") {
			t.Error("the first is seen again")
		}
		if strings.HasSuffix(string(f.Data), "second of live") {
			break
		}
	}
	end := make(chan error)
	go func() {
		for {
			if err := c.Next(&f); err != nil {
				end <- err
				return
			}
		}
	}()
	<-waited
	c.Close()
	if err := <-end; !errors.Is(err, io.EOF) {
		t.Errorf("a closed capture ends with %v", err)
	}
}

func TestAnInterfaceThatIsNotThere(t *testing.T) {
	_, err := Open("nosuch0", nil)
	if err == nil || !strings.Contains(err.Error(), `"nosuch0"; there are`) || !strings.Contains(err.Error(), "lo") {
		t.Errorf("%v", err)
	}
}

// Both directions, both IP versions, and a VLAN, whose tag is put back.
func TestBothDirectionsAndVLANs(t *testing.T) {
	h := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.0.1/24", "2001:db8::1/64"},
		Right: []string{"198.18.0.2/24", "2001:db8::2/64"}})
	vlans := true
	for addr, ns := range map[string]netns.NsHandle{"198.18.7.1/24": h.Left, "198.18.7.2/24": h.Right} {
		testnet.In(t, ns, func() error {
			err := addVLAN(addr)
			if errors.Is(err, unix.EOPNOTSUPP) {
				t.Log("without VLANs: the kernel has none")
				vlans, err = false, nil
			}
			return err
		})
	}
	testnet.In(t, h.Left, func() error {
		c := openLive(t, testnet.Interface, nil)
		for _, test := range []struct {
			from, to string
			dir      capture.Direction
			len      int // of the headers
		}{
			{"198.18.0.1", "198.18.0.2", capture.Outbound, 42},
			{"2001:db8::1", "2001:db8::2", capture.Outbound, 62},
			{"198.18.7.1", "198.18.7.2", capture.Outbound, 46},
			{"198.18.0.2", "198.18.0.1", capture.Inbound, 42},
			{"2001:db8::2", "2001:db8::1", capture.Inbound, 62},
			{"198.18.7.2", "198.18.7.1", capture.Inbound, 46},
		} {
			if !vlans && strings.HasPrefix(test.from, "198.18.7.") {
				continue
			}
			text := "from " + test.from
			if test.dir == capture.Outbound {
				say(t, test.from, test.to, text)
			} else {
				testnet.In(t, h.Right, func() error { say(t, test.from, test.to, text); return nil })
			}
			if f := next(t, c, text); f.Direction != test.dir || len(f.Data) != test.len+len(text) {
				t.Errorf("%s: %v, %d bytes", text, f.Direction, len(f.Data))
			}
		}
		return nil
	})
}

// addVLAN adds VLAN 7 with an address to this host's interface.
func addVLAN(addr string) error {
	parent, err := netlink.LinkByName(testnet.Interface)
	if err != nil {
		return err
	}
	v := &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "vlan7", ParentIndex: parent.Attrs().Index}, VlanId: 7}
	if err := netlink.LinkAdd(v); err != nil {
		return err
	}
	a, err := netlink.ParseAddr(addr)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(v, a); err != nil {
		return err
	}
	return netlink.LinkSetUp(v)
}

// The frames that a peer sends arrive unchanged, also with VLAN tags, of which the kernel removes
// the first.
func TestFramesAreComplete(t *testing.T) {
	h := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.0.1/24"}, Right: []string{"198.18.0.2/24"}})
	head := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1}
	frame := func(middle ...byte) []byte {
		b := append(slices.Clone(head), middle...)
		return append(b, []byte(strings.Repeat("live", 20))...)
	}
	frames := [][]byte{
		frame(0x89, 0x15), // RoCEv1
		frame(0x81, 0, 0x60, 7, 0x89, 0x15),
		frame(0x88, 0xa8, 0, 100, 0x81, 0, 0xe0, 7, 0x88, 0x47), // MPLS
		frame(0x88, 0x08),                                       // MAC control
		frame(8, 0, 0x45, 0, 0, 100, 0, 0, 0, 0, 64, 47),        // GRE
	}
	testnet.In(t, h.Left, func() error {
		c := openLive(t, testnet.Interface, nil)
		testnet.In(t, h.Right, func() error {
			link, err := net.InterfaceByName(testnet.Interface)
			if err != nil {
				return err
			}
			conn, err := packet.Listen(link, packet.Raw, 0, nil)
			if err != nil {
				return err
			}
			defer conn.Close()
			for _, b := range frames {
				if _, err := conn.WriteTo(b, &packet.Addr{HardwareAddr: b[:6]}); err != nil {
					return err
				}
			}
			return nil
		})
		for _, want := range frames {
			var f capture.Frame
			for !bytes.HasPrefix(f.Data, head) {
				if err := c.Next(&f); err != nil {
					return err
				}
			}
			if !bytes.Equal(f.Data, want) || f.Length != len(want) || f.Link != capture.LinkEthernet ||
				f.Direction != capture.Inbound {
				t.Errorf("%v %v %d bytes\n%x, sent\n%x", f.Link, f.Direction, f.Length, f.Data, want)
			}
		}
		return nil
	})
}

// A port that a switch mirrors to receives frames to other hosts.
func TestAnInterfaceIsPromiscuousDuringACapture(t *testing.T) {
	h := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.0.1/24"}, Right: []string{"198.18.0.2/24"}})
	testnet.In(t, h.Left, func() error {
		promiscuous := func(want int) {
			t.Helper()
			link, err := netlink.LinkByName(testnet.Interface)
			if err != nil {
				t.Fatal(err)
			}
			if got := link.Attrs().Promisc; got != want {
				t.Errorf("promiscuity is %d, want %d", got, want)
			}
		}
		promiscuous(0)
		c, err := Open(testnet.Interface, nil)
		if err != nil {
			return err
		}
		promiscuous(1)
		err = c.Close()
		promiscuous(0)
		return err
	})
}

// A tunnel device has no Ethernet header.
func TestAnInterfaceWithoutEthernetHeaders(t *testing.T) {
	h := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.0.1/24"}, Right: []string{"198.18.0.2/24"}})
	testnet.In(t, h.Left, func() error {
		tun := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "live0"}, Mode: netlink.TUNTAP_MODE_TUN,
			Flags: netlink.TUNTAP_NO_PI, Queues: 1} // an open queue is the carrier
		if err := netlink.LinkAdd(tun); err != nil {
			t.Skipf("cannot make a tunnel device: %v", err)
		}
		for _, f := range tun.Fds {
			defer f.Close()
		}
		if ethernet, err := isEthernet("live0"); ethernet || err != nil {
			t.Errorf("%v, %v", ethernet, err)
		}
		a, err := netlink.ParseAddr("198.18.8.1/24")
		if err != nil {
			return err
		}
		if err := errors.Join(netlink.AddrAdd(tun, a), netlink.LinkSetUp(tun)); err != nil {
			return err
		}
		c := openLive(t, "live0", nil)
		say(t, "198.18.8.1", "198.18.8.2", "through a tunnel")
		if f := next(t, c, "through a tunnel"); f.Link != capture.LinkRaw || f.Data[0] != 0x45 {
			t.Errorf("%v, %x", f.Link, f.Data)
		}
		return nil
	})
}
