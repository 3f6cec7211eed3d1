package socket

import (
	"net/netip"
	"os"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// sockopt returns an option of the link's socket.
func sockopt(t *testing.T, l packet.Link, level, opt int) (value int) {
	t.Helper()
	var err error
	cerr := l.(*udpQueues).raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, opt) })
	if cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	return value
}

func TestUDPSocketOptions(t *testing.T) {
	l, err := ListenUDP(netip.MustParseAddr("127.44.1.7"), UDPOptions{ReceiveBuffer: 100 << 10, SendBuffer: 50 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, o := range []struct {
		name             string
		level, opt, want int
	}{
		// The kernel doubles the requested buffer size.
		{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, 200 << 10},
		{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, 100 << 10},
		{"IP_MTU_DISCOVER", unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
		{"IP_TTL", unix.SOL_IP, unix.IP_TTL, packet.DefaultHopLimit},
	} {
		if got := sockopt(t, l, o.level, o.opt); got != o.want {
			t.Errorf("%s is %d, want %d", o.name, got, o.want)
		}
	}
	if got := l.Caps().MTU; got != 65536 {
		t.Errorf("MTU %d, want that of lo", got)
	}
}

func TestUDPBuffersPastTheHostsLimit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a buffer past net.core.rmem_max takes CAP_NET_ADMIN")
	}
	l, err := ListenUDP(netip.MustParseAddr("127.44.1.8"), UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := sockopt(t, l, unix.SOL_SOCKET, unix.SO_RCVBUF); got < defaultReceiveBuffer {
		t.Errorf("receive buffer of %d bytes, want at least %d", got, defaultReceiveBuffer)
	}
}
