package socket

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	mdpacket "github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

func TestRawNamesTheCapabilityItLacks(t *testing.T) {
	done := make(chan error)
	go func() {
		// The thread stays in the namespace and ends with its goroutine.
		runtime.LockOSThread()
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		err := unix.Capget(&hdr, &caps[0])
		if err == nil {
			caps[0].Effective &^= 1 << unix.CAP_NET_RAW
			err = unix.Capset(&hdr, &caps[0])
		}
		if err != nil {
			done <- err
			return
		}
		l, err := ListenRaw(netip.MustParseAddr("127.48.0.9"), RawOptions{})
		if err == nil {
			l.Close()
		}
		done <- err
	}()
	err := <-done
	if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "CAP_NET_RAW") ||
		!strings.Contains(err.Error(), "link udp") {
		t.Errorf("ListenRaw: %v, want EPERM, the capability by name and what to do", err)
	}
	// Nothing remains open.
	l, err := ListenUDP(netip.MustParseAddr("127.48.0.9"), UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestRawPortInUse(t *testing.T) {
	hosts := testnet.Connect(t, rawCable)
	testnet.In(t, hosts.Left, func() error {
		addr := netip.MustParsePrefix(rawCable.Left[0]).Addr()
		for _, open := range []func() (packet.Link, error){
			func() (packet.Link, error) { return ListenRaw(addr, RawOptions{}) },
			func() (packet.Link, error) { return ListenUDP(addr, UDPOptions{}) },
		} {
			first, err := open()
			if err != nil {
				return err
			}
			if _, err := ListenRaw(addr, RawOptions{}); !errors.Is(err, unix.EADDRINUSE) ||
				!strings.Contains(err.Error(), "ss -ulpn") {
				t.Errorf("a second link: %v, want EADDRINUSE and what to do", err)
			}
			first.Close()
		}
		return nil
	})
}

// The kernel of the receiving host also sees every datagram.
func TestRawKernelAnswersNobody(t *testing.T) {
	hosts, a, b := rawPair(t, rawCable)
	var wire *mdpacket.Conn
	testnet.In(t, hosts.Left, func() error {
		ifc, err := net.InterfaceByName(testnet.Interface)
		if err != nil {
			return err
		}
		wire, err = mdpacket.Listen(ifc, mdpacket.Datagram, unix.ETH_P_IP, nil)
		return err
	})
	defer wire.Close()
	sendEqual(t, a, b.Local(), 32, 512)
	rb := packet.NewRecvBatch(64)
	for n := 0; n < 32; n += len(rb.Frames) {
		if err := b.Recv(rb); err != nil {
			t.Fatal(err)
		}
	}
	// What b sends now arrives after any response.
	sendEqual(t, b, a.Local(), 1, 7)
	if err := wire.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		n, _, err := wire.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		if n > 20 && buf[9] == unix.IPPROTO_ICMP {
			t.Fatalf("ICMP from the host of the link: %x", buf[:n])
		}
		if src, dst := b.Local().As4(),
			a.Local().As4(); n == 35 && bytes.Equal(buf[12:16], src[:]) && bytes.Equal(buf[16:20], dst[:]) {
			return
		}
	}
}

// A link that outlives its interface continues when the interface returns.
func TestRawGoesOnWithAnotherCable(t *testing.T) {
	hosts, a, b := rawPair(t, rawCable)
	hosts.Cut(t)
	hosts.Plug(t)
	rb := packet.NewRecvBatch(64)
	got := make(chan error, 1)
	go func() { got <- b.Recv(rb) }()
	for {
		batch := packet.NewBatch(1)
		f := batch.AppendFrame()
		f.Path = &packet.Path{Dst: b.Local()}
		a.Prepare(batch)
		// Errors are expected until the kernel knows the route again.
		_ = a.Send(batch)
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-t.Context().Done():
			t.Fatal("nothing arrives")
		default:
			runtime.Gosched()
		}
	}
}
