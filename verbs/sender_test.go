package verbs_test

import (
	"bytes"
	"context"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// rawPeer returns a device at the address server, and a peer on its network at the address peer.
func rawPeer(t *testing.T, server, peer string) (*verbstest.Node, *rawcm.Peer) {
	t.Helper()
	n := pipe.NewNet()
	links := make([]packet.Link, 2)
	for i, a := range []string{server, peer} {
		var err error
		if links[i], err = n.Open(netip.MustParseAddr(a), 1500); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := links[1].Close(); err != nil {
			t.Error(err)
		}
	})
	return verbstest.Open(t, verbs.Config{Links: links[:1]}, 64), rawcm.New(links[1], netip.MustParseAddr(server))
}

// Linux passes a program any address that its routing table considers a neighbour's.
func TestARequestThatGivesAnothersAddressForItsOwnIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, server, peer string
		says               string // in the IP header
		refused            string // counter, "" for a request that the program gets
	}{
		{"its own, IPv4", "192.0.2.1", "192.0.2.66", "192.0.2.66", ""},
		{"its own, IPv6", "2001:db8::1", "2001:db8::66", "2001:db8::66", ""},
		{"its own, of the link", "fe80::1%eth0", "fe80::66%eth0", "fe80::66", ""},
		{"its own, IPv4 as IPv6", "192.0.2.1", "192.0.2.66", "::ffff:192.0.2.66", ""},
		{"its own, of a loopback", "127.55.4.9", "127.55.4.66", "127.55.4.66", ""},
		{"another host's", "192.0.2.1", "192.0.2.66", "192.0.2.67", "ip_sender"},
		{"another host's, IPv6", "2001:db8::1", "2001:db8::66", "2001:db8::67", "ip_sender"},
		{"another host's, of the link", "fe80::1%eth0", "fe80::66%eth0", "fe80::67", "ip_sender"},
		{"another host's, IPv4 as IPv6", "192.0.2.1", "192.0.2.66", "::ffff:192.0.2.67", "ip_sender"},
		{"the server's", "192.0.2.1", "192.0.2.66", "192.0.2.1", "ip_sender"},
		{"of another family", "192.0.2.1", "192.0.2.66", "2001:db8::66", "ip_sender"},
		{"nobody's", "192.0.2.1", "192.0.2.66", "127.0.0.1", "ip_source"},
		{"none", "192.0.2.1", "192.0.2.66", "", "ip_cm_version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, peer := rawPeer(t, tt.server, tt.peer)
				connections, datagrams := b.ListenAt(verbs.PortSpaceTCP, 7), b.ListenAt(verbs.PortSpaceUDP, 7)
				private := bytes.Repeat([]byte{0xff}, mad.IPHeaderLen)
				if tt.says != "" {
					says, to := netip.MustParseAddr(tt.says), netip.MustParseAddr(tt.server)
					if says.Is4() != to.Is4() {
						to = netip.AddrFrom16(to.As16())
					}
					private = peer.IPHeader(says, to)
				}
				req, sidr := peer.REQ(1, 7), peer.SIDRREQ(2, 7)
				req.REQ.PrivateData, sidr.SIDRREQ.PrivateData = private, private
				for i, m := range []*mad.Message{req, sidr} {
					if err := peer.Put(m); err != nil {
						t.Fatal(err)
					}
					if err := peer.Flush(); err != nil {
						t.Fatal(err)
					}
					if tt.refused == "" {
						r := b.Next([]*verbs.Listener{connections, datagrams}[i])
						if r.RemoteGID() != peer.GID() ||
							r.Remote() != netip.AddrPortFrom(netip.MustParseAddr(tt.peer), 49152) {
							t.Errorf("the program is asked by %v at %v", r.Remote(), r.RemoteGID())
						}
						continue
					}
					var answer mad.Message
					if err := peer.Recv(&answer); err != nil {
						t.Fatal(err)
					}
					switch {
					case answer.Attribute == mad.AttrREJ && i == 0:
						if r := &answer.REJ; r.RemoteCommID != 1 || r.Reason != mad.RejectConsumerDefined {
							t.Errorf("answered by %+v", r)
						}
					case answer.Attribute == mad.AttrSIDRREP && i == 1:
						if r := &answer.SIDRREP; r.RequestID != 2 || r.Status != mad.SIDRReject {
							t.Errorf("answered by %+v", r)
						}
					default:
						t.Errorf("answered by %v", answer.Attribute)
					}
				}
				if tt.refused == "" {
					return
				}
				synctest.Wait()
				over, cancel := context.WithCancel(t.Context())
				cancel()
				for _, l := range []*verbs.Listener{connections, datagrams} {
					if r, err := l.Next(over); err == nil {
						t.Errorf("the program was asked by %v", r.Remote())
					}
				}
				if n := b.Device.Counters()["cm_malformed_"+tt.refused]; n != 2 {
					t.Errorf("%d requests are counted as %s, want 2", n, tt.refused)
				}
			})
		})
	}
}
