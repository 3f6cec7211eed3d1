package linktest

import (
	"net"
	"testing"
	"time"

	mdpacket "github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// Sniff captures packets on network interface ifname of the calling thread's network namespace with
// a packet socket. This requires CAP_NET_RAW: without it, the test is skipped.
func Sniff(t testing.TB, ifname string) Wire {
	t.Helper()
	ifc, err := net.InterfaceByName(ifname)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := mdpacket.Listen(ifc, mdpacket.Datagram, unix.ETH_P_ALL, nil)
	if err != nil {
		t.Skipf("looking at the wire takes a packet socket (CAP_NET_RAW): %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	widen(t, conn)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 128<<10)
	return func() ([]byte, error) {
		n, _, err := conn.ReadFrom(buf)
		return buf[:n], err
	}
}

// sniffBuffer is the size of the receive buffer in bytes. The buffer also holds packets of other
// programs.
const sniffBuffer = 32 << 20

func widen(t testing.TB, conn *mdpacket.Conn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// Exceeding the host's limit requires CAP_NET_ADMIN; without it, the limit must be enough.
	if err := raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, sniffBuffer)
	}); err != nil {
		t.Fatal(err)
	}
}
