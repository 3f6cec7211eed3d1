package nic

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// A host outside the list of peers gets no answer whatever it sends, and no connection can be
// made to it; the connection manager hears it.
func TestPeersThatAreNotAdmittedGetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		v.dev.peers = newAdmission([]netip.Prefix{netip.PrefixFrom(addrB, 32), netip.MustParsePrefix("2001:db8::/32")})
		for _, opcode := range []bth.Opcode{bth.RCWriteOnly, bth.UDSendOnly} {
			p := v.valid()
			p.Opcode = opcode
			b := p.Append(nil)
			v.stranger.send(addrA, append(b, 0, 0, 0, 0)) // not even its ICRC is looked at
		}
		v.untouched(map[string]uint64{"not_admitted": 2})
		p := v.valid()
		p.DestQP = bth.GSI
		v.stranger.sendSealed(addrA, p.Append(nil))
		v.untouched(map[string]uint64{"not_admitted": 2, "unknown_qpn": 1})
		v.alive()

		q := v.newQP()
		av := qp.Attr{AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrC)}}
		if _, _, err := q.way(&av, qp.AttrAV); err == nil || !strings.Contains(err.Error(), "192.0.2.66 is not among the peers that the device admits") {
			t.Error(err)
		}
		av.AV.DGID = qp.GIDFromAddr(addrB)
		if _, _, err := q.way(&av, qp.AttrAV); err != nil {
			t.Error(err)
		}
	})
}

func TestAdmits(t *testing.T) {
	d := &Device{}
	if !d.Admits(addrC) {
		t.Error("a device without a list refuses a peer")
	}
	d.peers = newAdmission([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/26"), netip.MustParsePrefix("fe80::/64")})
	got := map[string]bool{}
	for _, a := range []string{"192.0.2.1", "192.0.2.66", "::ffff:192.0.2.2", "fe80::1%eth0", "fe80:1::1", "2001:db8::1"} {
		got[a] = d.Admits(netip.MustParseAddr(a))
	}
	want := map[string]bool{"192.0.2.1": true, "192.0.2.66": false, "::ffff:192.0.2.2": true, "fe80::1%eth0": true, "fe80:1::1": false, "2001:db8::1": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAdmitsWhatAnyOfThePrefixesHolds(t *testing.T) {
	addresses := rapid.Custom(func(t *rapid.T) netip.Addr {
		b := []byte{10, 0, rapid.ByteRange(0, 3).Draw(t, "third"), rapid.Byte().Draw(t, "fourth")}
		if rapid.Bool().Draw(t, "IPv6") {
			b = append(bytes.Repeat([]byte{0xfd}, 12), b...)
		}
		a, _ := netip.AddrFromSlice(b)
		return a
	})
	prefixes := rapid.SliceOf(rapid.Custom(func(t *rapid.T) netip.Prefix {
		a := addresses.Draw(t, "address")
		return netip.PrefixFrom(a, a.BitLen()-rapid.IntRange(0, 12).Draw(t, "host bits"))
	}))
	rapid.Check(t, func(t *rapid.T) {
		peers := prefixes.Draw(t, "peers")
		host := addresses.Draw(t, "host")
		want := len(peers) == 0 || slices.ContainsFunc(peers, func(p netip.Prefix) bool { return p.Contains(host) })
		if got := newAdmission(peers).has(host); got != want {
			t.Fatalf("%v is admitted: %v", host, got)
		}
	})
}

func TestADeviceOffersNoMTUAboveItsLimit(t *testing.T) {
	n := pipe.NewNet()
	for i, c := range []struct{ limit, want qp.MTU }{{0, 4096}, {512, 512}, {4096, 4096}} {
		d, err := Open(Config{Links: []packet.Link{openLink(t, n, netip.AddrFrom4([4]byte{192, 0, 2, byte(100 + i)}))}, MTU: c.limit})
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

// A sender that sends more than is read loses its own messages.
func TestAGateLetsThroughTheShareOfEach(t *testing.T) {
	g := newGate(16)
	var src [4]netip.Addr
	for i := range src {
		src[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	}
	enter := func(i, want int) {
		t.Helper()
		n := 0
		for ; n < 100 && g.admits(src[i]); n++ {
			g.enter(src[i])
		}
		if n != want {
			t.Errorf("%d of sender %d were let through, want %d", n, i, want)
		}
	}
	enter(0, 8) // half of the receives, alone
	enter(1, 4) // half of that with another
	enter(2, 2)
	enter(3, 2)
	enter(0, 0)
	for range 8 {
		g.leave(src[0])
	}
	enter(1, 0)
	enter(2, 0) // 8 wait, all shares are taken
	g.leave(src[1])
	enter(0, 2) // one for anybody, then one that is missing to its share, a fourth
	for _, i := range []int{0, 0, 1, 1, 1, 2, 2, 3, 3} {
		g.leave(src[i])
	}
	g.leave(src[3]) // nobody's
	if g.waiting != 0 || len(g.of) != 0 {
		t.Errorf("%d wait: %v", g.waiting, g.of)
	}
	enter(3, 8)
}
