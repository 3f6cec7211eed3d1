package linktest

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
)

// Pipes returns an Open that opens two links of a new in-memory network. configure, unless nil, may
// change the network first.
func Pipes(addrA, addrB string, configure func(*pipe.Net)) Open {
	return func(t *testing.T) (a, b packet.Link) {
		n := pipe.NewNet()
		if configure != nil {
			configure(n)
		}
		return OpenPipe(t, n, addrA), OpenPipe(t, n, addrB)
	}
}

// OpenPipe opens a link of n with an MTU of 9000 bytes.
func OpenPipe(t testing.TB, n *pipe.Net, addr string) packet.Link {
	t.Helper()
	l, err := n.Open(netip.MustParseAddr(addr), 9000)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Wrapped returns an Open that calls open and decorates both links.
func Wrapped(open Open, wrap func(packet.Link) packet.Link) Open {
	return func(t *testing.T) (a, b packet.Link) {
		a, b = open(t)
		return wrap(a), wrap(b)
	}
}

// IgnoringTap returns l with a tap that ignores all frames.
func IgnoringTap(l packet.Link) packet.Link {
	return packet.Tap(l, func(packet.Direction, packet.TapFrame) {})
}
