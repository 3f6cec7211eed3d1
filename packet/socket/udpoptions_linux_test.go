package socket_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
	"golang.org/x/sys/unix"
)

// No RoCEv2 packet has IPv4 options or IPv6 extension headers (CA17-3, CA17-24). The kernel would
// pass the payload of such a datagram to the socket.
func TestUDPDatagramsWithOptionsAreDropped(t *testing.T) {
	for _, test := range []struct {
		name, to, from string
		level, option  int
		value          string
	}{
		{"IPv4", "127.44.12.1", "127.44.12.2", unix.SOL_IP, unix.IP_OPTIONS, "\x01\x01\x01\x00"},
		{"IPv6", "::1", "::1", unix.SOL_IPV6, unix.IPV6_DSTOPTS, "\x00\x00\x01\x04\x00\x00\x00\x00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := listen(t, test.to, socket.UDPOptions{})
			defer l.Close()
			conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(test.from)},
				net.UDPAddrFromAddrPort(netip.AddrPortFrom(l.Local(), packet.Port)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			raw, err := conn.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			set := func(value string) {
				var failed error
				if err := raw.Control(func(fd uintptr) {
					failed = unix.SetsockoptString(int(fd), test.level, test.option, value)
				}); err != nil {
					t.Fatal(err)
				}
				switch {
				case errors.Is(failed, unix.EPERM):
					t.Skip("extension headers need CAP_NET_RAW")
				case failed != nil:
					t.Fatal(failed)
				}
			}
			send := func(text string) {
				if _, err := conn.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			set(test.value)
			send("with options, 32 bytes in all...")
			set("")
			send("without options, 32 bytes.......")
			rb := packet.NewRecvBatch(8)
			if err := l.Recv(rb); err != nil {
				t.Fatal(err)
			}
			for _, f := range rb.Frames {
				if string(f.Data) != "without options, 32 bytes......." {
					t.Errorf("received %q", f.Data)
				}
			}
		})
	}
}
