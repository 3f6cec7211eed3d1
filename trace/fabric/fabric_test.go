package fabric_test

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/tunnel"
)

func bytesOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func place(b []byte) tunnel.Place { return tunnel.Place{Data: b, Wire: len(b)} }

// The packet of IBA 7.8.3, with its ICRC, and a VCRC that was computed bit by bit.
func TestTheVCRCOfTheSamplePacketIsRight(t *testing.T) {
	b := bytesOf(t,
		"7012375c000e17d20a2024870087b1b3000dec2a01710a1c015d400238f27a050000000ebb884d85fd5cfba4728bc0690ed40000"+
			"9625b75a"+"45fa")
	var l fabric.LRH
	rest, v := l.Parse(place(b))
	want := fabric.LRH{VL: 7, SL: 1, Next: fabric.NextBTH, DLID: 0x375c, SLID: 0x17d2, Len: 56,
		VCRC: fabric.VCRC{Captured: true, Wire: 0xfa45, Want: 0xfa45}}
	if v != tunnel.Inside || l != want || rest.Wire != 48 || len(rest.Data) != 48 {
		t.Errorf("verdict %d, %+v, want %+v, %d bytes after it", v, l, want, len(rest.Data))
	}
	if l.Parse(place(b[:56])); l.VCRC.Captured || l.VCRC.Wrong() {
		t.Errorf("without a VCRC: %+v", l.VCRC)
	}
	b[0] = 0x60
	if l.Parse(place(b)); !l.VCRC.Wrong() {
		t.Errorf("with another VL: %+v", l.VCRC)
	}
}

func TestRouteHeadersThatAreBroken(t *testing.T) {
	var l fabric.LRH
	var g fabric.GRH
	good := bytesOf(t, "60000000"+"0010"+"1b40"+"fe800000000000000000000000000001"+"fe800000000000000000000000000002"+
		"00000000000000000000000000000000")
	for _, tt := range []struct {
		name  string
		parse func(tunnel.Place) (tunnel.Place, tunnel.Verdict)
		p     tunnel.Place
		want  tunnel.Verdict
	}{
		{"LRH captured short", l.Parse, tunnel.Place{Data: make([]byte, 7), Wire: 60}, tunnel.Cut},
		{"LRH of 7 bytes", l.Parse, place(make([]byte, 7)), tunnel.Broken},
		{"length shorter than the LRH", l.Parse, place(make([]byte, 40)), tunnel.Broken},
		{"length beyond the frame", l.Parse, place([]byte{0, 2, 0, 1, 0, 200, 0, 1}), tunnel.Broken},
		{"GRH", g.Parse, place(good), tunnel.Inside},
		{"GRH captured short", g.Parse, tunnel.Place{Data: good[:39], Wire: 60}, tunnel.Cut},
		{"GRH with another version", g.Parse, place(append([]byte{0x40}, good[1:]...)), tunnel.Broken},
		{"GRH payload beyond the frame", g.Parse, place(good[:50]), tunnel.Broken},
	} {
		if _, v := tt.parse(tt.p); v != tt.want {
			t.Errorf("%s: verdict %d, want %d", tt.name, v, tt.want)
		}
	}
}

func TestLIDsHaveAddressesOfTheirOwn(t *testing.T) {
	for _, lid := range []uint16{0, 1, 5, 0xffff} {
		a := fabric.LIDAddr(lid)
		if got, ok := fabric.LIDOf(a); !ok || got != lid || fabric.AddrText(a) != fmt.Sprintf("LID %d", lid) {
			t.Errorf("LID %d is %v, %d, %q", lid, a, got, fabric.AddrText(a))
		}
	}
	for _, text := range []string{"198.18.0.2", "fe80::5", "100:0:0:1::5", "100::5%eth0", "::ffff:1.0.0.5"} {
		if a := netip.MustParseAddr(text); fabric.AddrText(a) != text {
			t.Errorf("%s is %s", text, fabric.AddrText(a))
		}
	}
	if got := fabric.AddrText(netip.Addr{}); got != (netip.Addr{}).String() {
		t.Errorf("the zero address is %q", got)
	}
}

func TestPauseFramesTellClassesAndTimes(t *testing.T) {
	for _, tt := range []struct{ b, text string }{
		{"0101" + "0008" + "000000000000ffff0000000000000000",
			"PFC: pause class 3 for 65535 quanta (335.54µs at 100 Gbit/s)"},
		{"0101" + "0018" + "000000000000ffff0000000000000000",
			"PFC: pause class 3 for 65535 quanta (335.54µs at 100 Gbit/s), resume class 4"},
		{"0101" + "0000" + "00000000000000000000000000000000", "PFC: no class"},
		{"0001" + "0010", "pause frame: pause all traffic for 16 quanta (80ns at 100 Gbit/s)"},
		{"0001" + "0000", "pause frame: resume all traffic"},
	} {
		var p fabric.Pause
		b := bytesOf(t, tt.b)
		if v := p.Parse(place(b)); v != tunnel.Inside || p.String() != tt.text {
			t.Errorf("%s: verdict %d, %q, want %q", tt.b, v, &p, tt.text)
		}
		for n := range b {
			if v := p.Parse(tunnel.Place{Data: b[:n], Wire: 60}); v != tunnel.Cut {
				t.Errorf("%s: %d bytes captured: verdict %d", tt.b, n, v)
			}
		}
	}
	var p fabric.Pause
	if v := p.Parse(place([]byte{0, 2, 0, 0})); v != tunnel.Plain {
		t.Errorf("another opcode: verdict %d", v)
	}
	p = fabric.Pause{PFC: true, Classes: 1 << 3, Quanta: [8]uint16{0: 9, 3: 1000}}
	for _, tt := range []struct {
		class int
		speed float64
		want  time.Duration
	}{{3, 400e9, 1280 * time.Nanosecond}, {0, 400e9, 0}, {-1, 400e9, 0}, {8, 400e9, 0}, {3, 0, 0}} {
		if got := p.Time(tt.class, tt.speed); got != tt.want {
			t.Errorf("class %d at %g bit/s: %v, want %v", tt.class, tt.speed, got, tt.want)
		}
	}
}

func TestTheNumberOfCountedProtocolsIsBounded(t *testing.T) {
	var c fabric.Counter
	for n := range uint32(300) {
		c.Add(fabric.ID{Space: fabric.UDPPort, Number: n})
	}
	c.Add(fabric.ID{Space: fabric.UDPPort, Number: 7})
	all := c.Counts()
	if len(all) != 257 || all[0] != (fabric.Count{Name: "UDP to port 7", Frames: 2}) ||
		all[256] != (fabric.Count{Name: "other protocols", Frames: 44}) {
		t.Errorf("%d names, first %v, last %v", len(all), all[0], all[len(all)-1])
	}
}

// FuzzHeaders checks that the parsers accept any bytes, and that their texts are never empty.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte{0x01, 0x01, 0, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}, uint16(0))
	f.Add([]byte{0x11, 0x8c, 0, 0, 0, 0, 3, 0xe8, 0, 5, 0, 0}, uint16(40))
	f.Add([]byte{0x10, 2, 0, 5, 0, 3, 0, 9, 0, 0, 0, 0, 1, 2}, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, more uint16) {
		p := tunnel.Place{Data: b, Wire: len(b) + int(more)}
		var pause fabric.Pause
		if pause.Parse(p) == tunnel.Inside && (pause.String() == "" || len(pause.Fields()) == 0) {
			t.Errorf("%+v", pause)
		}
		var u fabric.UET
		if u.Parse(b, p.Wire) && (u.String() == "" || len(u.Fields()) == 0) {
			t.Errorf("%+v", u)
		}
		var l fabric.LRH
		if rest, v := l.Parse(p); v == tunnel.Inside && (len(rest.Data) > rest.Wire || len(rest.Data) > len(b)) {
			t.Errorf("%+v, %d of %d bytes", l, len(rest.Data), rest.Wire)
		}
		var g fabric.GRH
		if rest, v := g.Parse(p); v == tunnel.Inside && len(rest.Data) > rest.Wire {
			t.Errorf("%+v, %d of %d bytes", g, len(rest.Data), rest.Wire)
		}
	})
}
