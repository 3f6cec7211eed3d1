package verbs_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// The same link-local address belongs to different hosts on different links.
func TestALinkLocalPeerIsDialedOnTheLinkOfItsZone(t *testing.T) {
	pipes := pipe.NewNet()
	open := func(addrs ...string) *verbstest.Node {
		var cfg verbs.Config
		for _, a := range addrs {
			l, err := pipes.Open(netip.MustParseAddr(a), 4096+80)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Links = append(cfg.Links, l)
		}
		return verbstest.Open(t, cfg, 64)
	}
	a, b := open("fe80::1%eth0", "fe80::11%eth1"), open("fe80::2")
	l := b.ListenAt(verbs.PortSpaceTCP, 0)
	dial := func(zone string) error {
		q, _ := a.NewQP()
		to := netip.AddrPortFrom(netip.MustParseAddr("fe80::2"+zone), l.Addr().Port())
		_, err := a.Device.Dial(t.Context(), to, q, verbs.DefaultConnParam())
		return err
	}
	for _, c := range []struct{ zone, from string }{{"%eth1", "fe80::11"}, {"%eth0", "fe80::1"}, {"", "fe80::1"}} {
		out := make(chan error, 1)
		go func() { out <- dial(c.zone) }()
		r := b.Next(l)
		if got := r.RemoteGID().Addr().String(); got != c.from {
			t.Errorf("fe80::2%s is dialed from %v, want %s", c.zone, got, c.from)
		}
		if err := r.Reject(nil); err != nil {
			t.Error(err)
		}
		if <-out == nil {
			t.Error("what was refused is connected")
		}
	}
	go func() {
		if r, err := l.Next(t.Context()); err == nil {
			r.Reject(nil)
		}
	}()
	if err := dial("%eth2"); err == nil || !strings.Contains(err.Error(), "no address with a route to the peer") {
		t.Errorf("fe80::2%%eth2 is dialed on a link that the device does not have: %v", err)
	}
}
