package nic

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/nic/admit"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// A host outside Config.Peers gets no answer to anything it sends, and no connection can be made
// to it; only the connection manager receives its packets.
func TestPeersThatAreNotAdmittedGetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		v.dev.peers = admit.NewHosts([]netip.Prefix{netip.PrefixFrom(addrB, 32),
			netip.MustParsePrefix("2001:db8::/32")})
		for _, opcode := range []bth.Opcode{bth.RCWriteOnly, bth.UDSendOnly} {
			p := v.valid()
			p.Opcode = opcode
			b := p.Append(nil)
			v.stranger.send(addrA, append(b, 0, 0, 0, 0)) // the ICRC is not checked
		}
		v.untouched(map[string]uint64{"not_admitted": 2})
		p := v.valid()
		p.DestQP = bth.GSI
		v.stranger.sendSealed(addrA, p.Append(nil))
		v.untouched(map[string]uint64{"not_admitted": 2, "unknown_qpn": 1})
		v.alive()

		q := v.newQP()
		av := qp.Attr{AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrC)}}
		if _, _, err := q.pathFor(&av, qp.AttrAV); err == nil || !strings.Contains(err.Error(),
			"192.0.2.66 is not among the peers that the device admits") {
			t.Error(err)
		}
		av.AV.DGID = qp.GIDFromAddr(addrB)
		if _, _, err := q.pathFor(&av, qp.AttrAV); err != nil {
			t.Error(err)
		}
	})
}

func TestAdmits(t *testing.T) {
	d := &Device{}
	if !d.Admits(addrC) {
		t.Error("a device without a list refuses a peer")
	}
	d.peers = admit.NewHosts([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/26"), netip.MustParsePrefix("fe80::/64")})
	got := map[string]bool{}
	for _, a := range []string{"192.0.2.1", "192.0.2.66", "::ffff:192.0.2.2", "fe80::1%eth0", "fe80:1::1",
		"2001:db8::1"} {
		got[a] = d.Admits(netip.MustParseAddr(a))
	}
	want := map[string]bool{"192.0.2.1": true, "192.0.2.66": false, "::ffff:192.0.2.2": true, "fe80::1%eth0": true,
		"fe80:1::1": false, "2001:db8::1": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADeviceOffersNoMTUAboveItsLimit(t *testing.T) {
	n := pipe.NewNet()
	for i, c := range []struct{ limit, want qp.MTU }{{0, 4096}, {512, 512}, {4096, 4096}} {
		d, err := Open(Config{Links: []packet.Link{openLink(t, n, netip.AddrFrom4([4]byte{192, 0, 2, byte(100 + i)}))},
			MTU: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.GIDs()[0].MTU; got != c.want {
			t.Errorf("limit %d: MTU %d, want %d", c.limit, got, c.want)
		}
		if _, err := d.AddLink(openLink(t, n, netip.AddrFrom4([4]byte{192, 0, 2, byte(200 + i)}))); err != nil {
			t.Fatal(err)
		}
		if err := d.UpdateLink(1); err != nil {
			t.Error(err)
		}
		if got := d.GIDs()[1].MTU; got != c.want {
			t.Errorf("limit %d: MTU of an address that came %d, want %d", c.limit, got, c.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
