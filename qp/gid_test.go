package qp_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// Texts are those of glibc's inet_ntop for the same bytes.
func TestGIDForms(t *testing.T) {
	for _, c := range []struct {
		addr, text, hex string
	}{
		{"198.18.0.2", "::ffff:198.18.0.2", "00000000000000000000ffffc6120002"},
		{"0.0.0.0", "::ffff:0.0.0.0", "00000000000000000000ffff00000000"},
		{"fd00:18::2", "fd00:18::2", "fd000018000000000000000000000002"},
		{"fe80::5054:ff:fe12:3456", "fe80::5054:ff:fe12:3456", "fe80000000000000505400fffe123456"},
		{"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", "20010db8000000010001000100010001"},
		{"2001:0:0:1:0:0:0:1", "2001:0:0:1::1", "20010000000000010000000000000001"},
		{"::", "::", "00000000000000000000000000000000"},
		{"::1", "::1", "00000000000000000000000000000001"},
		{"::c612:2", "::198.18.0.2", "000000000000000000000000c6120002"},
		{"::1:0", "::0.1.0.0", "00000000000000000000000000010000"},
	} {
		a := netip.MustParseAddr(c.addr)
		g := qp.GIDFromAddr(a)
		if g.Addr() != a {
			t.Errorf("%s came back as %v", a, g.Addr())
		}
		if g.String() != c.text {
			t.Errorf("%s has text %q, want %q", a, g, c.text)
		}
		if g.Hex() != c.hex {
			t.Errorf("%s has hex %q, want %q", a, g.Hex(), c.hex)
		}
		for _, s := range []string{c.hex, strings.ToUpper(c.hex)} {
			if back, err := qp.ParseGIDHex(s); err != nil || back != g {
				t.Errorf("%s parsed to %v, %v", s, back, err)
			}
		}
		if g.IsZero() != (c.text == "::") {
			t.Errorf("IsZero of %s is %v", a, g.IsZero())
		}
	}
}

func TestGIDOfOddAddresses(t *testing.T) {
	if g := qp.GIDFromAddr(netip.Addr{}); !g.IsZero() {
		t.Errorf("no address gives %v", g)
	}
	if g := qp.GIDFromAddr(netip.MustParseAddr("fe80::1%eth0")); g.String() != "fe80::1" {
		t.Errorf("with a zone: %v", g)
	}
	if g := qp.GIDFromAddr(netip.MustParseAddr("::ffff:1.2.3.4")); g.Addr() != netip.MustParseAddr("1.2.3.4") {
		t.Errorf("a mapped address stays %v", g.Addr())
	}
}

func TestParseGIDHexRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "has 0 characters",
		"00000000000000000000ffffc612000":   "has 31 characters",
		"00000000000000000000ffffc61200020": "has 33 characters",
		"00000000000000000000ffffc612000g":  "not 32 hex digits",
		"::ffff:198.18.0.2 (32 characters)": "has 33 characters",
	} {
		if g, err := qp.ParseGIDHex(in); err == nil || !strings.Contains(err.Error(), want) || !g.IsZero() {
			t.Errorf("%q: %v, %v, want %q", in, g, err, want)
		}
	}
}

func FuzzParseGIDHex(f *testing.F) {
	f.Add("00000000000000000000ffffc6120002")
	f.Add("FE80000000000000505400fffe123456")
	f.Add("fe80::1")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := qp.ParseGIDHex(s)
		if err != nil {
			if !g.IsZero() {
				t.Errorf("%q: error %v and GID %v", s, err, g)
			}
			return
		}
		if g.Hex() != strings.ToLower(s) {
			t.Errorf("%q came back as %q", s, g.Hex())
		}
		if qp.GIDFromAddr(g.Addr()) != g {
			t.Errorf("%v does not survive netip", g)
		}
	})
}

func TestMTU(t *testing.T) {
	for e, m := range map[int]qp.MTU{1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096} {
		if !m.Valid() || m.Enum() != e || qp.MTUFromEnum(e) != m {
			t.Errorf("%d: valid %v, enum %d, from enum %d", m, m.Valid(), m.Enum(), qp.MTUFromEnum(e))
		}
	}
	for _, m := range []qp.MTU{-256, 0, 1, 128, 255, 1500, 3072, 8192} {
		if m.Valid() || m.Enum() != 0 {
			t.Errorf("%d is valid with enum %d", int(m), m.Enum())
		}
	}
	for _, e := range []int{-1, 0, 6, 1024} {
		if m := qp.MTUFromEnum(e); m != 0 {
			t.Errorf("enum %d gives %d", e, int(m))
		}
	}
	if s := qp.MTU(1024).String(); s != "1024" {
		t.Errorf("%q", s)
	}
}

// Reference values: 1500 gives 1024, 4096 requires 4176.
func TestMTUForLinkLeaves80Bytes(t *testing.T) {
	for netdev, want := range map[int]qp.MTU{
		0: 0, 335: 0, 336: 256, 591: 256, 592: 512, 1280: 1024, 1500: 1024, 2127: 1024, 2128: 2048, 4175: 2048,
		4176: 4096, 9000: 4096, 65536: 4096,
	} {
		if got := qp.MTUForLink(netdev); got != want {
			t.Errorf("netdev MTU %d gives %d, want %d", netdev, int(got), int(want))
		}
	}
}
