package respond

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// openAt opens a device with addresses.
func openAt(t *testing.T, addrs ...string) *verbs.Device {
	t.Helper()
	pipes := pipe.NewNet()
	var links []packet.Link
	for _, a := range addrs {
		l, err := pipes.Open(netip.MustParseAddr(a), 9000)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	d, err := verbs.Open(verbs.Config{Links: links})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// alone returns a responder on a device, on a host without other addresses.
func alone(d *verbs.Device, limits Limits) *Responder {
	r := New(func() []*verbs.Device { return []*verbs.Device{d} }, limits, slog.New(slog.DiscardHandler))
	r.hostAddrs = func(...string) []exchange.HostAddr { return nil }
	return r
}

// A link-local address belongs to different hosts on different links: the zone of the TCP
// connection decides.
func TestALinkLocalClientIsAnsweredOnItsOwnLink(t *testing.T) {
	d := openAt(t, "fe80::1%eth0", "fe80::11%eth1", "2001:db8::1")
	all := []netip.Prefix{netip.MustParsePrefix("::/0")}
	for _, c := range []struct {
		name, tcp, called, gid string
		foreign                []netip.Prefix
		want                   string // address that answers
		why                    reason // why there is none
	}{
		{name: "a neighbour", tcp: "fe80::2%eth0", called: "fe80::1%eth0", gid: "fe80::2", want: "fe80::1%eth0"},
		{name: "one on another link", tcp: "fe80::2%eth1", called: "fe80::11%eth1", gid: "fe80::2",
			want: "fe80::11%eth1"},
		{name: "one that calls the global address", tcp: "fe80::2%eth0", called: "2001:db8::1", gid: "fe80::2",
			want: "fe80::1%eth0"},
		{name: "one that calls it from another link", tcp: "fe80::2%eth1", called: "2001:db8::1", gid: "fe80::2",
			want: "fe80::11%eth1"},
		{name: "one from a link without a GID", tcp: "fe80::2%eth2", called: "2001:db8::1", gid: "fe80::2",
			why: foreignGID},
		{name: "a third host", tcp: "fe80::2%eth0", called: "fe80::1%eth0", gid: "fe80::3", why: foreignGID},
		{name: "a global address", tcp: "fe80::2%eth0", called: "fe80::1%eth0", gid: "2001:db8::2", why: foreignGID},
		{name: "a global address that is allowed", tcp: "fe80::2%eth0", called: "fe80::1%eth0", gid: "2001:db8::2",
			foreign: all, want: "2001:db8::1"},
		{name: "a neighbour that is allowed", tcp: "2001:db8::2", called: "2001:db8::1", gid: "fe80::3", foreign: all,
			want: "fe80::1%eth0"},
		{name: "this host", tcp: "fe80::1%eth0", called: "fe80::1%eth0", gid: "2001:db8::1", want: "2001:db8::1"},
		{name: "an address of this host on another link", tcp: "fe80::1%eth1", called: "2001:db8::1",
			gid: "2001:db8::1", foreign: all, why: foreignGID},
		{name: "the loopback address from there", tcp: "fe80::1%eth1", called: "2001:db8::1", gid: "::1", foreign: all,
			why: foreignGID},
		{name: "no GID of that kind", tcp: "192.0.2.2", called: "2001:db8::1", gid: "192.0.2.2", why: refusedQP},
	} {
		r := alone(d, Limits{ForeignGIDs: c.foreign})
		s := newSession(t.Context(), r, nil, netip.MustParseAddr(c.tcp))
		s.dev = d
		for _, g := range d.GIDs() {
			if g.Addr == netip.MustParseAddr(c.called) {
				s.here = g
			}
		}
		s.peers = s.allowedPeers()
		got, err := s.gidFor(gid(c.gid))
		var e *earlyEnd
		switch {
		case c.want != "" && (err != nil || got.Addr.String() != c.want):
			t.Errorf("%s: %v answers, want %s: %v", c.name, got.Addr, c.want, err)
		case c.want == "" && (!errors.As(err, &e) || e.why != c.why):
			t.Errorf("%s: %v answers: %v", c.name, got.Addr, err)
		}
	}
}

// Two hosts with the same link-local address are two peers, with a share each.
func TestTheSameAddressOnAnotherLinkIsAnotherPeer(t *testing.T) {
	r := alone(openAt(t, deviceAddr), Limits{PerPeer: 1})
	for _, c := range []struct {
		from  string
		other bool
	}{{"fe80::2%eth0", true}, {"fe80::2%eth1", true}, {"fe80::2%eth1", false}} {
		_, _, err := r.admit(t.Context(), call{local: at(deviceAddr), remote: at(c.from)})
		if (err == nil) != c.other {
			t.Errorf("%s: %v", c.from, err)
		}
	}
}
