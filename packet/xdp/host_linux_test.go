package xdp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/packet/xdp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Packets that the program passes are unaffected: connections such as ssh's, pings, other
// datagrams.
func TestXDPLeavesTheRestToTheHost(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	l := xdpIn(t, hosts.Right, linktest.RightIPv4, xdp.Options{})
	defer l.Close()
	var server net.Listener
	var other net.PacketConn
	testnet.In(t, hosts.Right, func() (err error) {
		if server, err = net.Listen("tcp", linktest.RightIPv4+":0"); err != nil {
			return err
		}
		other, err = net.ListenPacket("udp", linktest.RightIPv4+":4792")
		return err
	})
	defer server.Close()
	defer other.Close()
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	testnet.In(t, hosts.Left, func() error {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", server.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		sent := bytes.Repeat([]byte("ssh "), 10_000)
		go func() { _, _ = c.Write(sent) }()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("over TCP: %v", err)
		}
		u, err := d.DialContext(t.Context(), "udp", other.LocalAddr().String())
		if err != nil {
			return err
		}
		defer u.Close()
		_, err = u.Write([]byte("other"))
		return err
	})
	b := make([]byte, 16)
	if n, _, err := other.ReadFrom(b); err != nil || string(b[:n]) != "other" {
		t.Errorf("by another port: %q, %v", b[:n], err)
	}
}

// The UDP socket receives frames for the link that the program does not redirect; their headers
// are not seen.
func TestXDPReceivesFragmentsByTheSocket(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	l := xdpIn(t, hosts.Right, linktest.RightIPv4, xdp.Options{})
	defer l.Close()
	sent := bytes.Repeat([]byte{7}, 3000)
	testnet.In(t, hosts.Left, func() error {
		lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
			cerr := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT)
			})
			return errors.Join(err, cerr)
		}}
		c, err := lc.ListenPacket(context.Background(), "udp4", linktest.LeftIPv4+":0")
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.WriteTo(sent, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(linktest.RightIPv4+":4791")))
		return err
	})
	rb := packet.NewRecvBatch(8)
	if err := l.Recv(rb); err != nil {
		t.Fatal(err)
	}
	if f := rb.Frames[0]; !bytes.Equal(f.Data, sent) || f.HeaderSeen ||
		f.Src != netip.MustParseAddr(linktest.LeftIPv4) {
		t.Errorf("got %d bytes from %v, header seen: %v", len(f.Data), f.Src, f.HeaderSeen)
	}
}

// loopbackUp sets the loopback interface of a host up, through which it reaches itself.
func loopbackUp(t *testing.T, ns netns.NsHandle) {
	testnet.In(t, ns, func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
}

func TestXDPReachesItsOwnHost(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	loopbackUp(t, hosts.Left)
	a, b := xdpIn(t, hosts.Left, linktest.LeftIPv4, xdp.Options{}),
		xdpIn(t, hosts.Left, linktest.LeftIPv6, xdp.Options{})
	defer a.Close()
	defer b.Close()
	for _, l := range []packet.Link{a, b} {
		if f := linktest.Exchange(t, l, l, 1000); f.HeaderSeen || f.Src != l.Local() {
			t.Errorf("%v: from %v, header seen: %v", l.Local(), f.Src, f.HeaderSeen)
		}
	}
}

// Once the neighbour is known, frames bypass the host's stack: they have no UDP checksum.
func TestXDPSendsPastTheHost(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	a, b := xdpIn(t, hosts.Left, linktest.LeftIPv4, xdp.Options{}),
		listenIn(t, hosts.Right, linktest.RightIPv4, socket.UDPOptions{})
	defer a.Close()
	defer b.Close()
	var wire linktest.Wire
	testnet.In(t, hosts.Right, func() error { wire = linktest.Sniff(t, testnet.Interface); return nil })
	sent := uint64(0)
	leavesPast := func() bool {
		linktest.Exchange(t, a, b, 4200)
		sent++
		if s := a.(packet.StatsReporter).Stats(); s.TxFrames != sent || s.TxBytes != 4200*sent {
			t.Errorf("counted %+v after %d frames of 4200 bytes", s, sent)
		}
		for {
			ip, err := wire()
			if err != nil {
				t.Fatal(err)
			}
			if len(ip) == 20+8+4200 {
				return ip[26] == 0 && ip[27] == 0
			}
		}
	}
	for !leavesPast() {
		if sent == 10_000 {
			t.Fatal("no frame of 10000 left past the host")
		}
	}
	past := 0
	for range 100 {
		if leavesPast() {
			past++
		}
	}
	if past < 90 {
		t.Errorf("%d of 100 frames left past the host", past)
	}
}

func TestXDPRefusesWhatIsNoEthernet(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	loopbackUp(t, hosts.Left)
	// The second open finds the port free.
	for range 2 {
		testnet.In(t, hosts.Left, func() error {
			_, err := xdp.Listen(netip.MustParseAddr("127.0.0.1"), xdp.Options{})
			if err == nil || !strings.Contains(err.Error(), "lo is not an Ethernet interface") {
				t.Errorf("lo: %v", err)
			}
			return nil
		})
	}
}

func TestXDPSecondStartIsRefused(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	l := xdpIn(t, hosts.Left, linktest.LeftIPv4, xdp.Options{})
	defer l.Close()
	testnet.In(t, hosts.Left, func() error {
		if _, err := xdp.Listen(l.Local(), xdp.Options{}); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("ListenXDP: %v, want EADDRINUSE", err)
		}
		if _, err := socket.ListenUDP(l.Local(), socket.UDPOptions{}); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("ListenUDP: %v, want EADDRINUSE", err)
		}
		return nil
	})
}

func TestXDPFollowsTheMTUOfItsInterface(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	for _, c := range []struct {
		Opts       xdp.Options
		Mtu, Wants int
	}{
		{xdp.Options{}, 1500, 1500}, {xdp.Options{}, 65535, 8178},
		{xdp.Options{SingleBuffer: true}, 1500, 1500}, {xdp.Options{SingleBuffer: true}, 9000, 3314},
	} {
		l := xdpIn(t, hosts.Left, linktest.LeftIPv4, c.Opts)
		if strings.Contains(l.Caps().Detail, "frames of at most") {
			c.Wants = min(c.Wants, 3314)
		}
		l.(packet.Resizable).SetMTU(c.Mtu)
		if got := l.Caps().MTU; got != c.Wants {
			t.Errorf("%+v: an interface with MTU %d makes %d, want %d", c.Opts, c.Mtu, got, c.Wants)
		}
		l.Close()
	}
}

func TestXDPRefusesFramesOfAnInterfaceThatIsDown(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	a, b := xdpIn(t, hosts.Left, linktest.LeftIPv4, xdp.Options{}),
		xdpIn(t, hosts.Right, linktest.RightIPv4, xdp.Options{})
	defer a.Close()
	defer b.Close()
	for range 20 {
		linktest.Exchange(t, a, b, 100)
	}
	testnet.OnInterface(t, hosts.Left, netlink.LinkSetDown)
	path := packet.Path{Dst: b.Local()}
	batch := packet.NewBatch(64)
	// More than there is space for.
	for round := range 20 {
		for !batch.Full() {
			f := batch.AppendFrame()
			f.Path = &path
			f.Payload = append(f.Payload, make([]byte, 100))
		}
		a.Prepare(batch)
		var refused *packet.SendError
		if err := a.Send(batch); round == 0 && (!errors.As(err, &refused) || refused.Refused != 64) {
			t.Fatalf("%v, want 64 frames refused", err)
		}
		batch.Reset()
	}
	// Until the link is told that the interface is down, it drops frames because the neighbour
	// is unknown.
	if s := a.(packet.StatsReporter).Stats(); s.TxRefused+s.TxNoNeighbour != 20*64 {
		t.Errorf("of %d frames: %+v", 20*64, s)
	}
}

func TestXDPSaysHowFramesAreMoved(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 0)
	for opts, want := range map[xdp.Options]string{
		{}: "native mode", {Generic: true}: "generic mode", {SingleBuffer: true}: "frames of at most 3328 bytes",
	} {
		l := xdpIn(t, hosts.Left, linktest.LeftIPv4, opts)
		if got := l.Caps().Detail; !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q in it", opts, got, want)
		}
		l.Close()
	}
}
