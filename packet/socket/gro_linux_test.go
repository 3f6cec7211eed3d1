package socket_test

import (
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// ethtool commands (linux/ethtool.h).
const (
	SetTSO = 0x1f
	SetGRO = 0x2c
)

// joinOnArrival enables GRO at the right host's interface: datagrams from the left are merged
// into trains, as NICs do.
func joinOnArrival(t testing.TB, h *testnet.Hosts) {
	t.Helper()
	// A veth with TSO does not perform GRO.
	ethtool(t, h.Left, SetTSO, 0)
	ethtool(t, h.Right, SetGRO, 1)
}

func ethtool(t testing.TB, ns netns.NsHandle, cmd, value uint32) {
	t.Helper()
	testnet.In(t, ns, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		arg := struct{ cmd, data uint32 }{cmd, value}
		var req struct {
			Name [unix.IFNAMSIZ]byte
			Data unsafe.Pointer
			_    [16]byte
		}
		copy(req.Name[:], testnet.Interface)
		req.Data = unsafe.Pointer(&arg)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL,
			uintptr(unsafe.Pointer(&req))); errno != 0 {
			return errno
		}
		return nil
	})
}

// The kernel merges datagrams because the UDP socket beside the packet socket sets UDP_GRO.
func TestRawReceivesWhatADeviceJoined(t *testing.T) {
	hosts := linktest.NewNet(t, 9000, 1)
	joinOnArrival(t, hosts)
	a := listenIn(t, hosts.Left, linktest.LeftIPv4, socket.UDPOptions{})
	defer a.Close()
	b := listenRawIn(t, hosts.Right, linktest.RightIPv4, socket.RawOptions{})
	defer b.Close()
	s := &sender{Link: a, Path: packet.Path{Dst: b.Local()}, Batch: packet.NewBatch(benchBatch),
		Data: make([]byte, 1024)}
	rb := packet.NewRecvBatch(64)
	meet(t, a, b)
	joined := 0
	for range 100 {
		if err := s.send(benchBatch); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < benchBatch; n += len(rb.Frames) {
			if err := b.Recv(rb); err != nil {
				t.Fatal(err)
			}
			for i := range rb.Frames {
				if f := &rb.Frames[i]; !f.HeaderSeen {
					joined++
				}
			}
		}
	}
	t.Logf("%d frames of %d were joined to one before them", joined, 100*benchBatch)
	if joined == 0 {
		t.Error("nothing was joined")
	}
}

// meet resolves the link-layer address of to at from; without it the link limits what it sends
// there.
func meet(t testing.TB, from, to packet.Link) {
	t.Helper()
	s := &sender{Link: from, Path: packet.Path{Dst: to.Local()}, Batch: packet.NewBatch(1), Data: make([]byte, 64)}
	if err := s.send(1); err != nil {
		t.Fatal(err)
	}
	if err := to.Recv(packet.NewRecvBatch(1)); err != nil {
		t.Fatal(err)
	}
}
