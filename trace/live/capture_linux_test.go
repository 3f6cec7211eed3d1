package live

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

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
	if f.Link != capture.LinkRaw || f.Interface != "lo" || f.Direction != capture.Unknown || f.Length != 20+8+13 ||
		f.Time.Before(begin.Add(-time.Second)) || time.Since(f.Time) < 0 {
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

// Both directions, both IP versions, and a VLAN, whose tag is removed.
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
			len      int
		}{
			{"198.18.0.1", "198.18.0.2", capture.Outbound, 28},
			{"2001:db8::1", "2001:db8::2", capture.Outbound, 48},
			{"198.18.7.1", "198.18.7.2", capture.Outbound, 28},
			{"198.18.0.2", "198.18.0.1", capture.Inbound, 28},
			{"2001:db8::2", "2001:db8::1", capture.Inbound, 48},
			{"198.18.7.2", "198.18.7.1", capture.Inbound, 28},
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
