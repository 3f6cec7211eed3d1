package packet_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
)

func pipes(addrA, addrB string, configure func(*packet.PipeNet)) linktest.Open {
	return func(t *testing.T) (a, b packet.Link) {
		n := packet.NewPipeNet()
		if configure != nil {
			configure(n)
		}
		return openPipe(t, n, addrA), openPipe(t, n, addrB)
	}
}

func openPipe(t testing.TB, n *packet.PipeNet, addr string) packet.Link {
	t.Helper()
	l, err := n.Open(netip.MustParseAddr(addr), 9000)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wrapped(open linktest.Open, wrap func(packet.Link) packet.Link) linktest.Open {
	return func(t *testing.T) (a, b packet.Link) {
		a, b = open(t)
		return wrap(a), wrap(b)
	}
}

func faultless(l packet.Link) packet.Link {
	return packet.FaultBoth(l, packet.FaultConfig{Seed: 1}, packet.FaultConfig{Seed: 2})
}

func ignoringTap(l packet.Link) packet.Link {
	return packet.Tap(l, func(packet.Direction, packet.TapFrame) {})
}

func TestPipe(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) { linktest.Run(t, pipes("192.0.2.1", "192.0.2.2", nil)) })
	t.Run("IPv6", func(t *testing.T) { linktest.Run(t, pipes("2001:db8::1", "2001:db8::2", nil)) })
	t.Run("link-local", func(t *testing.T) { linktest.Run(t, pipes("fe80::1%a", "fe80::2%b", nil)) })
	t.Run("header hidden", func(t *testing.T) {
		linktest.Run(t, pipes("192.0.2.1", "192.0.2.2", func(n *packet.PipeNet) { n.HideHeader = true }), linktest.Unwatched())
	})
}

func TestFaultWithoutFaults(t *testing.T) {
	linktest.Run(t, wrapped(pipes("192.0.2.1", "192.0.2.2", nil), faultless))
}

func TestTap(t *testing.T) {
	linktest.Run(t, wrapped(pipes("192.0.2.1", "192.0.2.2", nil), ignoringTap))
}

func TestTapOverFault(t *testing.T) {
	linktest.Run(t, wrapped(wrapped(pipes("192.0.2.1", "192.0.2.2", nil), faultless), ignoringTap))
}
