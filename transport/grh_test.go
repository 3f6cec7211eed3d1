package transport

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// The IPv4 header is one that Linux rxe 6.1 sent for a datagram of 512 bytes (ibv_ud_pingpong).
var grhs = []struct {
	name  string
	frame packet.Received
	want  string
	sl    uint8
}{
	{
		"IPv4 stands in the last 20 bytes, with its checksum",
		packet.Received{
			Data: make([]byte, 536), Src: netip.MustParseAddr("198.18.0.2"), Dst: netip.MustParseAddr("198.18.0.3"),
			ID: 0x4af0, FlagsFragment: packet.DontFragment, HopLimit: 64,
		},
		"0000000000000000000000000000000000000000" + "450002344af040004011619fc6120002c6120003", qp.SLIPv4,
	},
	{
		"IPv6 fills all 40 bytes",
		packet.Received{
			Data: make([]byte, 36), Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("ff0e::7"),
			TrafficClass: 0x2c, HopLimit: 1,
		},
		"62c00000002c1101" + "20010db8000000000000000000000001" + "ff0e0000000000000000000000000007", qp.SLIPv6,
	},
}

func TestNetworkHeaderOfADatagram(t *testing.T) {
	for _, c := range grhs {
		t.Run(c.name, func(t *testing.T) {
			g := GRH{0: 0xaa, 39: 0xbb}
			g.Set(&c.frame)
			if want, _ := hex.DecodeString(c.want); !bytes.Equal(g[:], want) {
				t.Errorf("\n%x, want\n%x", g, want)
			}
			if sl := g.sl(); sl != c.sl {
				t.Errorf("the service level is %#x, want %#x", sl, c.sl)
			}
			src, dst, class, err := g.Origin()
			if err != nil || src != c.frame.Src || dst != c.frame.Dst || class != c.frame.TrafficClass {
				t.Errorf("Origin = %v, %v, %#x, %v", src, dst, class, err)
			}
		})
	}
}

// An IPv6 source can be chosen so that its end and the destination look like an IPv4 header.
func TestOriginOfIPv6IsNeverReadAsIPv4(t *testing.T) {
	f := packet.Received{Data: make([]byte, 36), Src: netip.MustParseAddr("fd55::4500:0:0"),
		Dst: netip.MustParseAddr("fd55::1")}
	src := f.Src.As16()
	src[12], src[13] = 0x45, 0
	var g GRH
	f.Src = netip.AddrFrom16(src)
	g.Set(&f)
	sum := ^sum16(g[ip4At:])
	src[14], src[15] = byte(sum>>8), byte(sum)
	f.Src = netip.AddrFrom16(src)
	g.Set(&f)
	if h := g[ip4At:]; h[0] != 0x45 || sum16(h) != 0xffff {
		t.Fatalf("%x does not look like IPv4", h)
	}
	if src, dst, _, err := g.Origin(); err != nil || src != f.Src || dst != f.Dst {
		t.Errorf("Origin = %v, %v, %v, want %v, %v", src, dst, err, f.Src, f.Dst)
	}
}

func TestOriginRefusesWhatIsNoNetworkHeader(t *testing.T) {
	for _, g := range []GRH{{}, {0: 0x50}, {20: 0x45}, {20: 0x46}} {
		if src, dst, _, err := g.Origin(); err == nil {
			t.Errorf("Origin of %x is %v to %v, want an error", g, src, dst)
		}
	}
}
