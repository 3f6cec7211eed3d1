package tunnel_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/tunnel"
)

func join(all ...[]byte) (b []byte) {
	for _, v := range all {
		b = append(b, v...)
	}
	return b
}

func be16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// ip4 returns an IPv4 datagram from 10.9.0.1 to 10.9.0.2.
func ip4(protocol byte, payload []byte) []byte {
	return join([]byte{0x45, 0}, be16(uint16(20+len(payload))), []byte{0, 1, 0, 0, 64, protocol, 0, 0, 10, 9, 0, 1,
		10, 9, 0, 2},
		payload)
}

func udp(port uint16, payload []byte) []byte {
	return join(be16(40000), be16(port), be16(uint16(8+len(payload))), be16(0), payload)
}

func ether(kind uint16, payload []byte) []byte {
	return join([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, be16(kind), payload)
}

// inner is a datagram that tunnels carry.
var inner = ip4(17, udp(4791, make([]byte, 30)))

func peel(kind uint16, b []byte) (tunnel.Place, tunnel.Verdict, tunnel.Layer) {
	var l tunnel.Layer
	p, v := tunnel.Peel(tunnel.Place{Type: kind, Data: b, Wire: len(b)}, &l)
	return p, v, l
}

func TestPeelLocatesTheContents(t *testing.T) {
	frame := ether(0x0800, inner)
	for _, tt := range []struct {
		name string
		kind uint16
		b    []byte
		want string
	}{
		{"VXLAN", 0x0800, ip4(17, udp(4789, join([]byte{8, 0, 0, 0}, be32(7<<8), frame))),
			"VXLAN VNI 7, 10.9.0.1 → 10.9.0.2"},
		{"VXLAN with group policy", 0x0800, ip4(17, udp(4789, join([]byte{0x88, 0, 0, 9}, be32(7<<8), frame))),
			"VXLAN VNI 7, 10.9.0.1 → 10.9.0.2"},
		{"VLANs in VXLAN", 0x0800, ip4(17, udp(8472, join([]byte{8, 0, 0, 0}, be32(7<<8),
			ether(0x88a8, join(be16(1), be16(0x8100), be16(2), be16(0x0800), inner))))),
			"VXLAN VNI 7, 10.9.0.1 → 10.9.0.2"},
		{"Geneve with IP", 0x0800, ip4(17, udp(6081, join([]byte{0, 0}, be16(0x0800), be32(9<<8), inner))),
			"Geneve VNI 9, 10.9.0.1 → 10.9.0.2"},
		{"Geneve with options", 0x0800, ip4(17, udp(6081, join([]byte{2, 0}, be16(0x6558), be32(9<<8), make([]byte,
			8), frame))),
			"Geneve VNI 9, 10.9.0.1 → 10.9.0.2"},
		{"GRE with everything", 0x0800, ip4(47, join(be16(0xb000), be16(0x0800), be32(0), be32(3), be32(4), inner)),
			"GRE key 0x00000003 sequence 4, 10.9.0.1 → 10.9.0.2"},
		{"ERSPAN I", 0x0800, ip4(47, join(be16(0), be16(0x88be), frame)), "ERSPAN I, 10.9.0.1 → 10.9.0.2"},
		{"ERSPAN II", 0x0800, ip4(47, join(be16(0x1000), be16(0x88be), be32(1), be32(0x1007<<16|0xe403),
			be32(0xfff12345), frame)),
			"ERSPAN II session 3 VLAN 7 COS 7 index 74565 truncated sequence 1, 10.9.0.1 → 10.9.0.2"},
		{"MPLS with IP", 0x8847, join(be32(5<<12), be32(6<<12|0x100), inner), "MPLS label 5, 6"},
		{"MPLS with Ethernet", 0x8847, join(be32(6<<12|0x100), frame), "MPLS label 6"},
		{"MPLS with a control word", 0x8847, join(be32(6<<12|0x100), be32(1), frame), "MPLS label 6"},
		{"MPLS with a MAC address that begins with 4", 0x8847,
			join(be32(6<<12|0x100), []byte{0x45, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, be16(0x0800), inner),
			"MPLS label 6"},
		{"IP-in-IP", 0x0800, ip4(4, inner), "IP-in-IP, 10.9.0.1 → 10.9.0.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, v, l := peel(tt.kind, tt.b)
			if v != tunnel.Inside || p.Type != 0x0800 || string(p.Data) != string(inner) || p.Wire != len(inner) {
				t.Errorf("verdict %d, type %#x, %d bytes of %d, want %d", v, p.Type, len(p.Data), p.Wire, len(inner))
			}
			if got := l.String(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if strings.HasPrefix(tt.name, "ERSPAN") != p.Truncated || p.Truncated != l.Mirror() {
				t.Errorf("truncated: %v, mirror: %v", p.Truncated, l.Mirror())
			}
			for n := range len(tt.b) - len(inner) { // every header captured short
				short := tunnel.Place{Type: tt.kind, Data: tt.b[:n], Wire: len(tt.b)}
				if q, v := tunnel.Peel(short, &l); v != tunnel.Cut && !(tt.kind == 0x8847 && v != tunnel.Broken) {
					t.Errorf("%d bytes captured: verdict %d, %+v", n, v, q)
				}
			}
		})
	}
}

func TestPeelRefuses(t *testing.T) {
	frame := ether(0x0800, inner)
	for _, tt := range []struct {
		name string
		kind uint16
		b    []byte
		want tunnel.Verdict
	}{
		{"ARP", 0x0806, make([]byte, 28), tunnel.Plain},
		{"UDP to another port", 0x0800, ip4(17, udp(53, frame)), tunnel.Plain},
		{"VXLAN without a VNI", 0x0800, ip4(17, udp(4789, join(be32(0), be32(0), frame))), tunnel.Plain},
		{"VXLAN-GPE version 1", 0x0800, ip4(17, udp(4790, join([]byte{0x1c, 0, 0, 1}, be32(0), inner))), tunnel.Plain},
		{"VXLAN-GPE with NSH", 0x0800, ip4(17, udp(4790, join([]byte{0x0c, 0, 0, 4}, be32(0), inner))), tunnel.Plain},
		{"Geneve version 1", 0x0800, ip4(17, udp(6081, join([]byte{0x40, 0}, be16(0x6558), be32(0), frame))),
			tunnel.Plain},
		{"Geneve control packet", 0x0800, ip4(17, udp(6081, join([]byte{0, 0x80}, be16(0x6558), be32(0), frame))),
			tunnel.Plain},
		{"GRE with routing", 0x0800, ip4(47, join(be16(0x4000), be16(0x0800), inner)), tunnel.Plain},
		{"PPTP", 0x0800, ip4(47, join(be16(0x2001), be16(0x880b), be32(0), inner)), tunnel.Plain},
		{"ERSPAN II with another version", 0x0800, ip4(47, join(be16(0x1000), be16(0x88be), be32(0), be32(0), be32(0),
			frame)),
			tunnel.Plain},
		{"later fragment", 0x0800, set(ip4(47, join(be16(0), be16(0x0800), inner)), 7, 1), tunnel.Fragment},
		{"later fragment of TCP", 0x0800, set(ip4(6, inner), 7, 1), tunnel.Plain},
		{"IPv4 header of 16 bytes", 0x0800, set(ip4(4, inner), 0, 0x44), tunnel.Broken},
		{"IP version 5", 0x0800, set(ip4(4, inner), 0, 0x55), tunnel.Broken},
		{"GRE header that ends", 0x0800, ip4(47, []byte{0x20, 0, 8, 0}), tunnel.Broken},
		{"labels without end", 0x8847, make([]byte, 200), tunnel.Broken},
		{"MPLS with something else", 0x8847, join(be32(0x100), make([]byte, 20)), tunnel.Plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, v, _ := peel(tt.kind, tt.b); v != tt.want {
				t.Errorf("verdict %d, want %d", v, tt.want)
			}
		})
	}
}

func set(b []byte, at int, v byte) []byte {
	b[at] = v
	return b
}

// The first fragment of an outer datagram holds the beginning of the contents.
func TestTheFirstFragmentHasTruncatedContents(t *testing.T) {
	p, v, _ := peel(0x0800, set(ip4(4, inner), 6, 0x20))
	if v != tunnel.Inside || !p.Truncated {
		t.Errorf("verdict %d, truncated: %v", v, p.Truncated)
	}
}

func TestPaddingOfTheOuterFrameIsNoContents(t *testing.T) {
	p, v, _ := peel(0x0800, append(ip4(4, inner), 1, 2, 3))
	if v != tunnel.Inside || p.Wire != len(inner) || len(p.Data) != len(inner) {
		t.Errorf("verdict %d, %d bytes", v, p.Wire)
	}
}

// FuzzPeel checks that each encapsulation leaves less of a frame, and that its contents are a part
// of the frame.
func FuzzPeel(f *testing.F) {
	frame := ether(0x0800, inner)
	for _, b := range [][]byte{
		ip4(17, udp(4789, join([]byte{8, 0, 0, 0}, be32(7<<8), frame))), ip4(17, udp(4790, join([]byte{12, 0, 0, 5},
			be32(0), be32(0x100)))),
		ip4(17, udp(6081, join([]byte{1, 0}, be16(0x6558), be32(0), be32(0), frame))), ip4(4, ip4(41, make([]byte,
			40))),
		ip4(47, join(be16(0x1000), be16(0x22eb), be32(0), be32(0x20000000), be32(0), be16(0), be16(1), make([]byte,
			8), frame)),
		ip4(47, join(be16(0x1000), be16(0x88be), be32(0), be32(0x10000000), be32(0), frame)), ip4(137,
			join(be32(0x100), inner)),
	} {
		f.Add(uint16(capture.LinkRaw), b, uint16(0))
		f.Add(uint16(capture.LinkEthernet), ether(0x0800, b), uint16(9))
	}
	f.Add(uint16(capture.LinkEthernet), ether(0x8847, join(be32(0), be32(0x100), be32(0), frame)), uint16(0))
	f.Add(uint16(capture.LinkERF), join([]byte{8: 0x95, 15: 0}, make([]byte, 40)), uint16(0))
	f.Fuzz(func(t *testing.T, link uint16, b []byte, more uint16) {
		p, _, v := tunnel.OfFrame(&capture.Frame{Link: capture.LinkType(link), Data: b, Length: len(b) + int(more)})
		for depth := 0; v == tunnel.Inside && depth < 100; depth++ {
			var l tunnel.Layer
			var inside tunnel.Place
			if inside, v = tunnel.Peel(p, &l); v != tunnel.Inside {
				break
			}
			if len(inside.Data) >= len(p.Data) || inside.Wire < 0 || len(inside.Data) > len(b) {
				t.Fatalf("%d of %d bytes inside %d of %d", len(inside.Data), inside.Wire, len(p.Data), p.Wire)
			}
			if l.Kind == tunnel.None || l.String() == "" {
				t.Fatalf("%+v", l)
			}
			p = inside
		}
	})
}
