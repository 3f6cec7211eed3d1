package session

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// meetingAt is a TCP connection with a peer at a given address.
type meetingAt struct {
	net.Conn
	peer netip.AddrPort
}

func (m meetingAt) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(m.peer) }

// A link-local address identifies another host on each link, and packets leave through the
// device's link.
func TestALinkLocalPeerIsOnTheLinkOfTheDevice(t *testing.T) {
	l, err := pipe.NewNet().Open(netip.MustParseAddr("fe80::1%rdma0"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	for peer, want := range map[string]string{
		"[fe80::2%rdma0]:1": "",
		"[fe80::2%rdma1]:1": "the peer's GID is fe80::2%rdma0, and its TCP connection has the address fe80::2%rdma1: choose the GID of that address at the peer with -g or, if both addresses are the peer's, give --foreign-gids fe80::2 here",
		"[fe80::1%rdma1]:1": "the peer's GID is fe80::2%rdma0, and its TCP connection has the address fe80::1%rdma1: choose the GID of that address at the peer with -g or, if both addresses are the peer's, give --foreign-gids fe80::2 here",
	} {
		s := &Session{Device: dev, GID: dev.GIDs()[0], Conn: meetingAt{peer: netip.MustParseAddrPort(peer)}}
		got := ""
		if err := s.CheckNamed(netip.MustParseAddr("fe80::2").As16(), "-g"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("a peer at %s: %q, want %q", peer, got, want)
		}
	}
}
