package socket_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"golang.org/x/sys/unix"
)

func TestUDPPortInUse(t *testing.T) {
	l := listen(t, "127.44.1.1", socket.UDPOptions{})
	defer l.Close()
	_, err := socket.ListenUDP(l.Local(), socket.UDPOptions{})
	if !errors.Is(err, unix.EADDRINUSE) {
		t.Fatalf("second ListenUDP: %v, want EADDRINUSE", err)
	}
	for _, part := range []string{"127.44.1.1:4791", "rxe", "ss -ulpn sport = 4791"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
	l.Close()
	listen(t, "127.44.1.1", socket.UDPOptions{}).Close()
}

func TestUDPListenRefuses(t *testing.T) {
	for _, test := range []struct{ Rule, Addr, Want string }{
		{"an address of another host", "192.0.2.1", "not an address of this host"},
		{"every address", "0.0.0.0", "name a local unicast address"},
		{"every IPv6 address", "::", "name a local unicast address"},
		{"a group", "224.0.0.1", "name a local unicast address"},
		{"link-local without zone", "fe80::1", "needs a zone"},
		{"link-local with a zone that is none", "fe80::1%nosuch0", `zone "nosuch0"`},
	} {
		_, err := socket.ListenUDP(netip.MustParseAddr(test.Addr), socket.UDPOptions{})
		if err == nil || !strings.Contains(err.Error(), test.Want) {
			t.Errorf("%s: %v, want an error with %q", test.Rule, err, test.Want)
		}
	}
	if _, err := socket.ListenUDP(netip.Addr{}, socket.UDPOptions{}); err == nil {
		t.Error("no address: no error")
	}
}

func TestUDPMappedAddressIsIPv4(t *testing.T) {
	l := listen(t, "::ffff:127.44.1.2", socket.UDPOptions{})
	defer l.Close()
	if got := l.Local(); got != netip.MustParseAddr("127.44.1.2") {
		t.Errorf("Local %v", got)
	}
}

func TestUDPToItselfOverIPv6(t *testing.T) {
	l, err := socket.ListenUDP(netip.IPv6Loopback(), socket.UDPOptions{})
	if err != nil {
		t.Skipf("[::1]:4791 cannot be had, as without IPv6 or with another test on it: %v", err)
	}
	defer l.Close()
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprintf("frame %04d", i))
	}
	linktest.MustSend(t, l, l.Local(), texts...)
	if diff := cmp.Diff(texts, linktest.RecvTexts(t, l, 100)); diff != "" {
		t.Error(diff)
	}
}

func TestUDPSurvivesANobodyThere(t *testing.T) {
	a, b := listen(t, "127.44.1.3", socket.UDPOptions{}), listen(t, "127.44.1.4", socket.UDPOptions{})
	defer a.Close()
	defer b.Close()
	nobody := netip.MustParseAddr("127.44.1.99")
	for range 20 {
		// The host answers with ICMP port unreachable.
		if err := linktest.SendTo(t, a, nobody, "x"); err != nil {
			t.Errorf("Send to a closed port: %v", err)
		}
		linktest.MustSend(t, a, b.Local(), "y")
		linktest.MustSend(t, b, a.Local(), "z")
		if got := linktest.RecvTexts(t, b, 1)[0] + linktest.RecvTexts(t, a, 1)[0]; got != "yz" {
			t.Fatalf("received %q, want yz", got)
		}
	}
}

func TestUDPWithoutARouteSkipsTheFrame(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	a := listenIn(t, hosts.Left, linktest.LeftIPv4, socket.UDPOptions{})
	defer a.Close()
	b := listenIn(t, hosts.Right, linktest.RightIPv4, socket.UDPOptions{})
	defer b.Close()
	batch := packet.NewBatch(8)
	there, nowhere := &packet.Path{Dst: b.Local()}, &packet.Path{Dst: netip.MustParseAddr("203.0.113.1")}
	for _, p := range []*packet.Path{there, there, nowhere, nowhere, there, nowhere, there} {
		f := batch.AppendFrame()
		f.Path = p
		f.Payload = append(f.Payload, []byte("text"))
	}
	a.Prepare(batch)
	err := a.Send(batch)
	var refused *packet.SendError
	if !errors.As(err, &refused) || refused.Refused != 3 || refused.Frame != 2 || !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("Send: %v, want three frames refused for ENETUNREACH", err)
	}
	linktest.RecvTexts(t, b, 4)
	if got := a.(packet.StatsReporter).Stats(); got.TxRefused != 3 || got.TxFrames != 4 {
		t.Errorf("%+v", got)
	}
}

// Linux rxe sends UDP checksum 0, also over IPv6, where a socket drops it by default.
func TestUDPTakesIPv6WithoutChecksum(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	l := listenIn(t, hosts.Right, linktest.RightIPv6, socket.UDPOptions{})
	defer l.Close()
	var conn *net.UDPConn
	testnet.In(t, hosts.Left, func() (err error) {
		conn, err = net.DialUDP("udp6", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.Local(), packet.Port)))
		return err
	})
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_NO_CHECK6_TX, 1)
	}); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	if _, err := conn.Write([]byte("no checksum")); err != nil {
		t.Fatal(err)
	}
	if got := linktest.RecvTexts(t, l, 1)[0]; got != "no checksum" {
		t.Errorf("received %q", got)
	}
}

// This is why the udp link does not disable UDP checksums.
func TestUDPSegmentationNeedsChecksums(t *testing.T) {
	conn, err := net.ListenPacket("udp4", "127.44.1.5:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	cerr := raw.Control(func(fd uintptr) {
		if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1); err != nil {
			return
		}
		err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, 100)
	})
	if cerr != nil || err != nil {
		t.Skipf("the kernel has no UDP_SEGMENT: %v %v", cerr, err)
	}
	if _, err := conn.WriteTo(make([]byte, 1000), conn.LocalAddr()); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a train with checksums off: %v, want EINVAL", err)
	}
}
