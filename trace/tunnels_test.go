package trace_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// unzip returns the contents of a file of testdata.
func unzip(t testing.TB, name string) io.Reader {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// inTunnel is what a test compares of a packet.
type inTunnel struct {
	src, dst string
	bytes    string
	icrc     trace.Verdict
}

// contents returns the packets of a capture, and their encapsulations as text.
func contents(t testing.TB, name string) (packets []inTunnel, outer []string) {
	t.Helper()
	readAll(t, unzip(t, name), func(_ *capture.Frame, p *trace.Packet) {
		if p.Err != nil {
			t.Errorf("%s, frame %d: %v", name, p.Number, p.Err)
		}
		packets = append(packets, inTunnel{p.Src.String(), p.Dst.String(), string(p.Bytes), p.ICRC.Verdict})
		var layers []string
		for i := range p.Outer {
			layers = append(layers, p.Outer[i].String())
		}
		outer = append(outer, strings.Join(layers, "; "))
	})
	return packets, outer
}

// linuxTunnels are the captures of Linux tunnels, with the encapsulations of the first packet.
var linuxTunnels = []struct{ file, inside, outer string }{
	{"vxlan", "inside4", "VXLAN VNI 100, 10.9.0.1 → 10.9.0.2"},
	{"vxlan_8472", "inside4", "VXLAN VNI 101, 10.9.0.1 → 10.9.0.2"},
	{"vxlan6", "inside6", "VXLAN VNI 11259375, fd09::1 → fd09::2"},
	{"geneve", "inside4", "Geneve VNI 200, 10.9.0.1 → 10.9.0.2"},
	{"geneve6", "inside6", "Geneve VNI 201, fd09::1 → fd09::2"},
	{"gre", "inside4", "GRE, 10.9.0.1 → 10.9.0.2"},
	{"gre_csum_key_seq", "inside4", "GRE key 0x00000007 sequence 0, 10.9.0.1 → 10.9.0.2"},
	{"gretap", "inside4", "GRE, 10.9.0.1 → 10.9.0.2"},
	{"nvgre", "inside4", "NVGRE VSID 20 flow 1, 10.9.0.1 → 10.9.0.2"},
	{"ip6gretap", "inside4", "GRE, fd09::1 → fd09::2"},
	{"erspan1", "inside4", "ERSPAN I, 10.9.0.1 → 10.9.0.2"},
	{"erspan2", "inside4", "ERSPAN II session 5 VLAN 0 COS 0 index 123 sequence 0, 10.9.0.1 → 10.9.0.2"},
	{"ip6erspan2", "inside6", "ERSPAN II session 8 VLAN 0 COS 0 index 9 sequence 0, fd09::1 → fd09::2"},
	{"erspan3", "inside4", "ERSPAN III session 6 VLAN 0 COS 0 timestamp 2260514246 (100 µs) hardware 7 egress sequence 0, " +
		"10.9.0.1 → 10.9.0.2"},
	{"ipip", "inside4", "IP-in-IP, 10.9.0.1 → 10.9.0.2"},
	{"sit", "inside6", "IP-in-IP, 10.9.0.1 → 10.9.0.2"},
	{"ip4ip6", "inside4", "IP-in-IP, fd09::1 → fd09::2"},
	{"ip6ip6", "inside6", "IP-in-IP, fd09::1 → fd09::2"},
	{"mpls", "inside4", "MPLS label 100, 200"},
	{"nested", "inside4", "VXLAN VNI 300, 10.10.0.1 → 10.10.0.2; Geneve VNI 301, 10.11.0.1 → 10.11.0.2"},
}

func TestThePacketsInALinuxTunnelAreThoseThatWereSent(t *testing.T) {
	for _, tt := range linuxTunnels {
		t.Run(tt.file, func(t *testing.T) {
			want, _ := contents(t, "tunnels/"+tt.inside+".pcap.gz")
			got, outer := contents(t, "tunnels/"+tt.file+".pcap.gz")
			if !slices.Equal(got, want) {
				t.Errorf("%d packets, want %d:\n%+v\n%+v", len(got), len(want), got, want)
			}
			if len(outer) > 0 && outer[0] != tt.outer {
				t.Errorf("encapsulated in %q, want %q", outer[0], tt.outer)
			}
		})
	}
}

func TestAPacketThatAMirrorTruncatedIsCapturedShort(t *testing.T) {
	want, _ := contents(t, "tunnels/inside4.pcap.gz")
	for _, name := range []string{"erspan2_cut", "erspan3_cut"} {
		i, cut := 0, 0
		readAll(t, unzip(t, "tunnels/"+name+".pcap.gz"), func(_ *capture.Frame, p *trace.Packet) {
			w := want[i]
			i++
			if p.Err != nil || p.Len != len(w.bytes) || !strings.HasPrefix(w.bytes, string(p.Bytes)) {
				t.Errorf("%s, frame %d: %d of %d bytes, want %d: %v", name, p.Number, len(p.Bytes), p.Len, len(w.bytes), p.Err)
			}
			short := len(p.Bytes) < p.Len
			if p.Outer[0].ERSPAN.Truncated != short || short != (p.ICRC.Verdict == trace.NotChecked) {
				t.Errorf("%s, frame %d: short %v, T %v, ICRC %v", name, p.Number, short, p.Outer[0].ERSPAN.Truncated,
					p.ICRC.Verdict)
			}
			if short {
				cut++
			}
		})
		if i != len(want) || cut != 3 {
			t.Errorf("%s: %d packets, %d of them short", name, i, cut)
		}
	}
}

// A datagram to the RoCEv2 port is RoCEv2, also if its payload looks like a tunnel.
func TestAnOuterDatagramToTheRoCEPortWins(t *testing.T) {
	n := 0
	var d trace.Decoder
	d.Decode(frameOf(append([]byte{8, 7: 0}, ether(0x0800, ip4(nil, udp(make([]byte, 100))))...)), func(p *trace.Packet) {
		n++
		if p.Outer != nil {
			t.Errorf("encapsulated in %v", p.Outer)
		}
	})
	if n != 1 {
		t.Errorf("%d packets", n)
	}
}

// BenchmarkDecode decodes RoCEv2 packets, plain and in VXLAN.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"inside4", "vxlan"} {
		b.Run(name, func(b *testing.B) {
			r, err := capture.Open(unzip(b, "tunnels/"+name+".pcap.gz"))
			if err != nil {
				b.Fatal(err)
			}
			var frames []*capture.Frame
			for f, err := range r.Frames() {
				if err != nil {
					b.Fatal(err)
				}
				g := *f
				g.Data = slices.Clone(f.Data)
				frames = append(frames, &g)
			}
			var d trace.Decoder
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range frames {
					d.Decode(f, func(*trace.Packet) {})
				}
			}
		})
	}
}

func TestDecodingAPacketInATunnelAllocatesNothing(t *testing.T) {
	r, err := capture.Open(unzip(t, "tunnels/nested.pcap.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	layers := 0
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(p *trace.Packet) { layers = len(p.Outer) })
		if n := testing.AllocsPerRun(100, func() { d.Decode(f, func(*trace.Packet) {}) }); n > 0 {
			t.Errorf("frame %d: %v allocations", f.Number, n)
		}
	}
	if layers != 2 || tunnel.MaxDepth < 2 {
		t.Errorf("%d encapsulations", layers)
	}
}
