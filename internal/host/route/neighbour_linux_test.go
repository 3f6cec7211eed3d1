package route

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/mdlayher/packet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// dead lists addresses without a host, and the protocols by which the kernel solicits them.
var dead = []struct{ addr, bits, protocol string }{
	{dead4, "/24", "ARP"},
	{dead6, "/64", "neighbour discovery"},
	{"fe80::46:9" + scope, "/64", "neighbour discovery"},
}

// cable reads the frames that a host receives.
type cable struct {
	t    *testing.T
	conn *packet.Conn
}

func watch(t *testing.T, ns netns.NsHandle) *cable {
	t.Helper()
	c := &cable{t: t}
	testnet.In(t, ns, func() error {
		ifc, err := net.InterfaceByName(testnet.Interface)
		if err != nil {
			return err
		}
		c.conn, err = packet.Listen(ifc, packet.Raw, unix.ETH_P_ALL, nil)
		return err
	})
	t.Cleanup(func() { c.conn.Close() })
	return c
}

// await reads until is accepts a frame.
func (c *cable) await(is func(frame []byte) bool) []byte {
	c.t.Helper()
	b := make([]byte, 2048)
	for {
		n, _, err := c.conn.ReadFrom(b)
		if err != nil {
			c.t.Fatal(err)
		}
		if is(b[:n]) {
			return b[:n]
		}
	}
}

// awaitQuestion reads until the other host solicits addr.
func (c *cable) awaitQuestion(addr netip.Addr) {
	c.t.Helper()
	c.await(func(frame []byte) bool {
		arp := frame[12] == 0x08 && frame[13] == 0x06
		return (arp || len(frame) > 54 && frame[54] == layers.ICMPv6TypeNeighborSolicitation) &&
			bytes.Contains(frame, addr.AsSlice())
	})
}

type outcome struct {
	r   Route
	err error
}

// begin resolves in the background.
func begin(ctx context.Context, ns netns.NsHandle, dst netip.Addr) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		// The thread keeps the namespace and ends with its goroutine.
		runtime.LockOSThread()
		if err := netns.Set(ns); err != nil {
			done <- outcome{err: err}
			return
		}
		r, err := Resolve(ctx, dst, Options{})
		done <- outcome{r, err}
	}()
	return done
}

// Like rdma_cm, Resolve uses them, confirmed or not.
func TestEntriesWithAnAddressAreTaken(t *testing.T) {
	h := newHosts(t)
	entry := netlink.Neigh{LinkIndex: veth(t, h.Left).Attrs().Index, HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 46, 9}}
	for _, entry.State = range []int{
		netlink.NUD_PERMANENT, netlink.NUD_NOARP, netlink.NUD_REACHABLE, netlink.NUD_STALE, netlink.NUD_DELAY,
		netlink.NUD_PROBE,
	} {
		for _, dst := range []string{dead4, dead6} {
			entry.IP = net.ParseIP(dst)
			testnet.In(t, h.Left, func() error { return netlink.NeighSet(&entry) })
			r, err := resolve(t, h.Left, dst, Options{})
			if err != nil || !bytes.Equal(r.MAC, entry.HardwareAddr) {
				t.Errorf("%s in state %#x: %+v, error %v", dst, entry.State, r, err)
			}
		}
	}
}

func TestADeadNeighbour(t *testing.T) {
	h := newHosts(t)
	setNeighbourTimer(t, h.Left, 2, 10)
	for _, d := range dead {
		// The second time, the entry is in state NUD_FAILED.
		for range 2 {
			_, err := resolve(t, h.Left, d.addr, Options{})
			var n *NeighbourError
			text := "no answer to " + d.protocol + " from " +
				netip.MustParseAddr(d.addr).WithZone("").String() + " on veth0"
			if !errors.As(err, &n) || err.Error() != text || n.Addr.String() != d.addr ||
				n.Interface != testnet.Interface {
				t.Fatalf("%s: %v", d.addr, err)
			}
			if !n.Timeout() || !errors.Is(err, syscall.EHOSTUNREACH) {
				t.Errorf("timeout %v, %v", n.Timeout(), n.Err)
			}
		}
	}
}

func TestANeighbourThatAnswersLate(t *testing.T) {
	h := newHosts(t)
	setNeighbourTimer(t, h.Left, 1000, 50)
	right := veth(t, h.Right)
	for _, d := range dead {
		dst := netip.MustParseAddr(d.addr)
		frames := watch(t, h.Right)
		done := begin(t.Context(), h.Left, dst)
		frames.awaitQuestion(dst)
		addAddress(t, h.Right, right, dst.WithZone("").String()+d.bits)
		o := <-done
		if o.err != nil || !bytes.Equal(o.r.MAC, right.Attrs().HardwareAddr) {
			t.Errorf("%s: %+v, %v", d.addr, o.r, o.err)
		}
	}
}

func TestTheContextEndsTheWait(t *testing.T) {
	h := newHosts(t)
	setNeighbourTimer(t, h.Left, 10000, 50)
	for _, d := range dead {
		dst := netip.MustParseAddr(d.addr)
		frames := watch(t, h.Right)
		ctx, cancel := context.WithCancel(t.Context())
		done := begin(ctx, h.Left, dst)
		frames.awaitQuestion(dst)
		cancel()
		o := <-done
		var n *NeighbourError
		if !errors.As(o.err, &n) || !errors.Is(o.err, context.Canceled) || n.Timeout() {
			t.Errorf("%s, canceled: %+v, %v", d.addr, o.r, o.err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		o = <-begin(ctx, h.Left, dst)
		cancel()
		text := "no answer to " + d.protocol + " from " + dst.WithZone("").String() +
			" on veth0 so far: context deadline exceeded"
		if !errors.As(o.err, &n) || !errors.Is(o.err, context.DeadlineExceeded) || !n.Timeout() ||
			o.err.Error() != text {
			t.Errorf("%s, deadline: %+v, %v", d.addr, o.r, o.err)
		}
	}
}

// An interface whose link-layer address changes loses its neighbour entries.
func TestAnEntryThatGoesMeanwhileIsAskedForAgain(t *testing.T) {
	h := newHosts(t)
	setNeighbourTimer(t, h.Left, 10000, 10000)
	left, right := veth(t, h.Left), veth(t, h.Right)
	for i, d := range dead {
		dst := netip.MustParseAddr(d.addr)
		frames := watch(t, h.Right)
		done := begin(t.Context(), h.Left, dst)
		frames.awaitQuestion(dst)
		addAddress(t, h.Right, right, dst.WithZone("").String()+d.bits)
		testnet.In(t, h.Left, func() error {
			return netlink.LinkSetHardwareAddr(left, net.HardwareAddr{2, 0, 0, 0, 46, byte(i)})
		})
		if o := <-done; o.err != nil || !bytes.Equal(o.r.MAC, right.Attrs().HardwareAddr) {
			t.Errorf("%s: %+v, %v", d.addr, o.r, o.err)
		}
	}
}

func TestACableTakenOut(t *testing.T) {
	h := newHosts(t)
	setNeighbourTimer(t, h.Left, 10000, 50)
	right := veth(t, h.Right)
	dst := netip.MustParseAddr(dead4)
	frames := watch(t, h.Right)
	done := begin(t.Context(), h.Left, dst)
	frames.awaitQuestion(dst)
	testnet.In(t, h.Right, func() error { return netlink.LinkSetDown(right) })
	const text = "no ARP from 198.18.46.9 on veth0: it has no carrier: network is down"
	for _, when := range []string{"meanwhile", "before"} {
		o := <-done
		var n *NeighbourError
		if !errors.As(o.err, &n) || !errors.Is(o.err, syscall.ENETDOWN) || n.Timeout() || o.err.Error() != text {
			t.Errorf("%s: %+v, %v", when, o.r, o.err)
		}
		done = begin(t.Context(), h.Left, dst)
	}
	<-done
}

// The datagram that makes the kernel solicit the neighbour does not leave the link.
func TestTheDatagramIsEmptyAndStaysOnTheLink(t *testing.T) {
	h := newHosts(t)
	addRoute(t, h.Left, "198.18.50.0/24", netlink.Route{Gw: net.ParseIP(right4)})
	addRoute(t, h.Left, "fd00:50::/64", netlink.Route{Gw: net.ParseIP(right6)})
	for _, c := range []struct {
		dst string
		to  []string
	}{
		{"198.18.50.1", []string{right4, "198.18.50.1"}},
		{"fd00:50::1", []string{right6, "fd00:50::1"}},
		{rightLL + scope, []string{rightLL}},
	} {
		frames := watch(t, h.Right)
		if _, err := resolve(t, h.Left, c.dst, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, to := range c.to {
			var p gopacket.Packet
			frames.await(func(frame []byte) bool {
				p = gopacket.NewPacket(bytes.Clone(frame), layers.LayerTypeEthernet, gopacket.Default)
				return p.Layer(layers.LayerTypeUDP) != nil
			})
			udp := p.TransportLayer().(*layers.UDP)
			hopLimit := uint8(0)
			switch ip := p.NetworkLayer().(type) {
			case *layers.IPv4:
				hopLimit = ip.TTL
			case *layers.IPv6:
				hopLimit = ip.HopLimit
			}
			if dst := p.NetworkLayer().NetworkFlow().Dst().String(); dst != to || hopLimit != 1 || udp.Length != 8 ||
				udp.DstPort != 9 {
				t.Errorf("to %s, hop limit %d, UDP length %d, port %d; want to %s",
					dst, hopLimit, udp.Length, udp.DstPort, to)
			}
		}
	}
}

// subscribed calls f with a netlink connection and a subscription to the changes of a neighbour
// of h.Left.
func subscribed(t *testing.T, h *testnet.Hosts, neighbour string, f func(*host, *changes) error) {
	t.Helper()
	testnet.In(t, h.Left, func() error {
		kernel, err := open()
		if err != nil {
			return err
		}
		defer kernel.close()
		told, err := subscribe(netip.MustParseAddr(neighbour))
		if err != nil {
			return err
		}
		defer told.close()
		return f(kernel, told)
	})
}

func TestOnlyChangesOfTheNeighbourAreTold(t *testing.T) {
	h := newHosts(t)
	entry := netlink.Neigh{LinkIndex: veth(t, h.Left).Attrs().Index, State: netlink.NUD_PERMANENT}
	for _, c := range []struct {
		neighbour string
		others    []string
	}{
		{dead4, []string{"198.18.46.8", dead6}},
		{dead6, []string{"fd00:46::a", "fd00:47::9", "fd00:46:0:1::9", "fd00:46::1:0:9", dead4}},
	} {
		subscribed(t, h, c.neighbour, func(_ *host, told *changes) error {
			entry.HardwareAddr = net.HardwareAddr{2, 0, 0, 0, 46, c.neighbour[0]}
			for _, a := range append(c.others, c.neighbour) {
				entry.IP = netip.MustParseAddr(a).AsSlice()
				if err := netlink.NeighSet(&entry); err != nil {
					return err
				}
			}
			messages, err := told.receive()
			if err != nil || len(messages) != 1 || !bytes.Contains(messages[0].Data, entry.IP) {
				t.Errorf("%s: %v, %v", c.neighbour, messages, err)
			}
			return nil
		})
	}
}

func TestTheSameAddressOnAnotherInterfaceDecidesNothing(t *testing.T) {
	h := newHosts(t)
	left, other := veth(t, h.Left).Attrs().Index, addOther(t, h.Left).Attrs().Index
	subscribed(t, h, dead4, func(kernel *host, told *changes) error {
		entry := netlink.Neigh{IP: net.ParseIP(dead4), State: netlink.NUD_PERMANENT}
		for _, entry.LinkIndex = range []int{other, left} {
			entry.HardwareAddr = net.HardwareAddr{2, 0, 0, 0, 46, byte(entry.LinkIndex)}
			if err := netlink.NeighSet(&entry); err != nil {
				return err
			}
		}
		n, err := kernel.decision(told,
			&Route{Dst: netip.MustParseAddr(dead4), Interface: testnet.Interface, Index: left})
		if err != nil || !bytes.Equal(n.HardwareAddr, entry.HardwareAddr) {
			t.Errorf("%+v, %v", n, err)
		}
		return nil
	})
}

// The neighbour differs from that of the subscription, so only the loss makes Resolve read the
// kernel's entry.
func TestChangesThatWereLost(t *testing.T) {
	h := newHosts(t)
	index := veth(t, h.Left).Attrs().Index
	entry := func(ip string, last byte) *netlink.Neigh {
		mac := net.HardwareAddr{2, 0, 0, 0, 46, last}
		return &netlink.Neigh{LinkIndex: index, IP: net.ParseIP(ip), State: netlink.NUD_PERMANENT, HardwareAddr: mac}
	}
	for hop, want := range map[string]int{"198.18.46.10": netlink.NUD_PERMANENT, "198.18.46.11": 0} {
		subscribed(t, h, dead4, func(kernel *host, told *changes) error {
			var serr error
			err := told.conn.Control(func(fd uintptr) {
				serr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1)
			})
			if err := errors.Join(err, serr, netlink.NeighSet(entry("198.18.46.10", 0))); err != nil {
				return err
			}
			for i := range byte(200) {
				if err := netlink.NeighSet(entry(dead4, i)); err != nil {
					return err
				}
			}
			n, err := kernel.decision(told,
				&Route{Dst: netip.MustParseAddr(hop), Interface: testnet.Interface, Index: index})
			if err != nil || n.State != want {
				t.Errorf("%s: %+v, %v", hop, n, err)
			}
			return nil
		})
	}
}
