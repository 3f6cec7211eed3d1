package trace_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
)

// spec opens a capture of testdata/specs.
func spec(t testing.TB, name string) *os.File {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "specs", name+".pcap"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestTheICRCsOfRoCEv1AndInfiniBandAreRight(t *testing.T) {
	for _, tt := range []struct {
		name    string
		kind    fabric.Kind
		packets int
	}{{"rocev1", fabric.RoCEv1, 12}, {"infiniband", fabric.InfiniBand, 14}} {
		n := 0
		readAll(t, spec(t, tt.name), func(_ *capture.Frame, p *trace.Packet) {
			n++
			wrongVCRC := p.LRH != nil && p.LRH.VCRC.Wrong()
			if p.Err != nil || p.Doubtful || p.ICRC.Verdict != trace.Right || p.Fabric != tt.kind ||
				wrongVCRC != (tt.kind == fabric.InfiniBand && n == 14) {
				t.Errorf("%s, frame %d: %v %v %+v, VCRC wrong: %v", tt.name, p.Number, p.Err, p.Fabric, p.ICRC,
					wrongVCRC)
			}
			if p.Number == 1 && tt.kind == fabric.InfiniBand && p.ICRC.Wire != 0x5ab72596 { // IBA 7.8.3
				t.Errorf("ICRC of the sample packet: %#x", p.ICRC.Wire)
			}
		})
		if n != tt.packets {
			t.Errorf("%s: %d packets", tt.name, n)
		}
	}
}

func TestTheAnalysisOfTheOtherNetworks(t *testing.T) {
	for _, name := range []string{"rocev1", "infiniband", "erf", "vxlan_gpe", "geneve_options", "mpls_pseudowire",
		"erspan3_subheader"} {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "analysis/"+name+".txt", analysis(t, filepath.Join("testdata", "specs", name+".pcap")))
		})
	}
}

func TestThePacketsOfOtherProtocolsAreDescribed(t *testing.T) {
	for _, name := range []string{"specs/iwarp.pcap", "specs/iwarp_nocrc.pcap", "specs/uet.pcap", "specs/pause.pcap",
		"iwarp/siw.pcap.gz", "iwarp/siw_crc.pcap.gz"} {
		t.Run(name, func(t *testing.T) {
			text := ""
			path := onDisk(t, name)
			foreigns(t, path, func(f *trace.Foreign) bool {
				src, dst := f.Ends()
				text += fmt.Sprintf("%d %v %s → %s: %s\n", f.Number, f.Protocol, src, dst, f.Meaning)
				return false
			}, nil)
			base := filepath.Base(path)
			golden.Check(t, "analysis/"+base[:len(base)-len(".pcap")]+".txt", text)
		})
	}
}

func TestFramesWithoutPacketsAreCountedByName(t *testing.T) {
	var d trace.Decoder
	r, err := capture.Open(spec(t, "others"))
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(*trace.Packet) { t.Error("a packet") })
	}
	d.Decode(&capture.Frame{Link: 127}, func(*trace.Packet) {})
	want := []fabric.Count{{Name: "LLDP", Frames: 3}, {Name: "UDP to port 53", Frames: 2}, {Name: "ARP", Frames: 1},
		{Name: "EtherType 0x1234", Frames: 1}, {Name: "ICMP", Frames: 1}, {Name: "STP", Frames: 1},
		{Name: "TCP", Frames: 1}, {Name: "link type 127", Frames: 1}}
	if got := d.Protocols(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// An Output that has the method gets the Foreigns, unless there is a filter, and all get their
// frames.
func TestThePipelinePassesForeigns(t *testing.T) {
	for _, filter := range []interface{ Match(*trace.Packet) bool }{nil, matchAll{}} {
		var out foreignOutput
		p := trace.Pipeline{Outputs: []trace.Output{&out}, Filter: filter}
		r, err := capture.Open(spec(t, "pause"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want := foreignOutput{packets: 1, foreigns: 5, frames: 5}
		if filter != nil {
			want = foreignOutput{packets: 1}
		}
		if out != want {
			t.Errorf("filter %v: %+v, want %+v", filter, out, want)
		}
		if got := p.Protocols(); len(got) != 2 || got[0] != (fabric.Count{Name: "PFC", Frames: 3}) {
			t.Errorf("%v", got)
		}
	}
}

type matchAll struct{}

func (matchAll) Match(*trace.Packet) bool { return true }

type foreignOutput struct{ packets, foreigns, frames int }

func (o *foreignOutput) Packet(*trace.Packet) error   { o.packets++; return nil }
func (o *foreignOutput) Foreign(*trace.Foreign) error { o.foreigns++; return nil }
func (o *foreignOutput) Frame(*capture.Frame) error   { o.frames++; return nil }

func TestMoreEncapsulationsThanTheLimitAreNotRemoved(t *testing.T) {
	b := ip4(nil, udp(roce4(0, write(5, 5, 9))))
	for range 9 {
		b = ip4(nil, b)
		b[9] = 4 // IP-in-IP
	}
	var d trace.Decoder
	if got := decode(&d, &capture.Frame{Link: capture.LinkRaw, Data: b, Length: len(b)}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := d.Protocols(); len(got) != 1 || got[0].Name != "more than 8 encapsulations" {
		t.Errorf("%v", got)
	}
	if got := decode(&d, &capture.Frame{Link: capture.LinkRaw, Data: b[20:], Length: len(b) - 20}); len(got) != 1 {
		t.Errorf("in 8 encapsulations: %+v, %+v", got, d.Counts)
	}
}

// siw often sends the CRC of an FPDU in a segment of its own.
func TestTheCRCsOfSiwAreRight(t *testing.T) {
	counts := map[string]int{}
	foreigns(t, onDisk(t, "iwarp/siw_crc.pcap.gz"), func(f *trace.Foreign) bool {
		counts[fmt.Sprintf("%v, CRC %v", f.MPA.Kind, f.MPA.CRC)]++
		return false
	}, nil)
	want := map[string]int{"MPA request, CRC not checked": 2, "MPA reply, CRC not checked": 2, "FPDU, CRC right": 31,
		"FPDU, CRC not checked": 5, "rest of an FPDU, CRC right": 5}
	if !maps.Equal(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
}
