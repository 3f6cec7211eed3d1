package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/iwarp"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// networkField is a field of tshark, and its value for a packet; empty if the packet lacks it.
type networkField struct {
	name  string
	value func(*trace.Packet) string
	last  bool // tshark's last occurrence counts, which is that of the innermost header
}

// sharkTunnels are fields of encapsulations. tshark's first occurrence is that of the outermost.
var sharkTunnels = []networkField{
	{name: "vxlan.vni", value: func(p *trace.Packet) string {
		for _, l := range p.Outer {
			if l.Kind == tunnel.VXLAN || l.Kind == tunnel.VXLANGPE {
				return fmt.Sprint(l.ID)
			}
		}
		return ""
	}},
	{name: "geneve.vni", value: layerField(tunnel.Geneve, func(l *tunnel.Layer) any { return l.ID })},
	{name: "mpls.label", value: layerField(tunnel.MPLS, func(l *tunnel.Layer) any {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Labels[:l.NumLabels]), " ", ","), "[]")
	})},
	{name: "gre.key", value: func(p *trace.Packet) string {
		for _, l := range p.Outer {
			switch {
			case l.Kind == tunnel.NVGRE:
				return fmt.Sprint(l.ID<<8 | uint32(l.Flow))
			case l.Kind == tunnel.GRE && l.HasID:
				return fmt.Sprint(l.ID)
			}
		}
		return ""
	}},
	{name: "gre.sequence_number", value: func(p *trace.Packet) string {
		for _, l := range p.Outer {
			if l.HasSeq {
				return fmt.Sprint(l.Seq)
			}
		}
		return ""
	}},
	{name: "erspan.spanid", value: erspanField(0, func(l *tunnel.Layer) any { return l.ID })},
	{name: "erspan.vlan", value: erspanField(0, func(l *tunnel.Layer) any { return l.ERSPAN.VLAN })},
	{name: "erspan.cos", value: erspanField(0, func(l *tunnel.Layer) any { return l.ERSPAN.COS })},
	{name: "erspan.truncated", value: erspanField(0, func(l *tunnel.Layer) any { return flag(l.ERSPAN.Truncated) })},
	{name: "erspan.index", value: erspanField(tunnel.ERSPAN2, func(l *tunnel.Layer) any { return l.ERSPAN.Index })},
	{name: "erspan.timestamp", value: erspanField(tunnel.ERSPAN3,
		func(l *tunnel.Layer) any { return l.ERSPAN.Timestamp })},
	{name: "erspan.hw", value: erspanField(tunnel.ERSPAN3, func(l *tunnel.Layer) any { return l.ERSPAN.HardwareID })},
	{name: "erspan.gra", value: erspanField(tunnel.ERSPAN3, func(l *tunnel.Layer) any { return l.ERSPAN.Granularity })},
	{name: "erspan.direction", value: erspanField(tunnel.ERSPAN3,
		func(l *tunnel.Layer) any { return flag(l.ERSPAN.Egress) })},
}

func layerField(k tunnel.Kind, value func(*tunnel.Layer) any) func(*trace.Packet) string {
	return func(p *trace.Packet) string {
		for i := range p.Outer {
			if p.Outer[i].Kind == k {
				return fmt.Sprint(value(&p.Outer[i]))
			}
		}
		return ""
	}
}

// erspanField returns a getter for a field of ERSPAN of kind k; 0 means II or III.
func erspanField(k tunnel.Kind, value func(*tunnel.Layer) any) func(*trace.Packet) string {
	two, three := layerField(tunnel.ERSPAN2, value), layerField(tunnel.ERSPAN3, value)
	return func(p *trace.Packet) string {
		switch k {
		case tunnel.ERSPAN2:
			return two(p)
		case tunnel.ERSPAN3:
			return three(p)
		}
		return two(p) + three(p)
	}
}

// sharkLocal are fields of LRH, GRH and VCRC.
var sharkLocal = []networkField{
	{name: "infiniband.lrh.vl", value: lrhField(func(l *fabric.LRH) any { return l.VL })},
	{name: "infiniband.lrh.lver", value: lrhField(func(l *fabric.LRH) any { return l.Version })},
	{name: "infiniband.lrh.sl", value: lrhField(func(l *fabric.LRH) any { return l.SL })},
	{name: "infiniband.lrh.lnh", value: lrhField(func(l *fabric.LRH) any { return l.Next })},
	{name: "infiniband.lrh.dlid", value: lrhField(func(l *fabric.LRH) any { return l.DLID })},
	{name: "infiniband.lrh.slid", value: lrhField(func(l *fabric.LRH) any { return l.SLID })},
	{name: "infiniband.lrh.pktlen", value: lrhField(func(l *fabric.LRH) any { return l.Len / 4 })},
	{name: "infiniband.variant.crc",
		value: lrhField(func(l *fabric.LRH) any { return bits.ReverseBytes16(l.VCRC.Wire) })},
	{name: "infiniband.grh.ipver", value: grhField(func(g *fabric.GRH) any { return g.Version })},
	{name: "infiniband.grh.tclass", value: grhField(func(g *fabric.GRH) any { return g.TrafficClass })},
	{name: "infiniband.grh.flowlabel", value: grhField(func(g *fabric.GRH) any { return g.FlowLabel })},
	{name: "infiniband.grh.paylen", value: grhField(func(g *fabric.GRH) any { return g.Len })},
	{name: "infiniband.grh.nxthdr", value: grhField(func(g *fabric.GRH) any { return g.Next })},
	{name: "infiniband.grh.hoplmt", value: grhField(func(g *fabric.GRH) any { return g.HopLimit })},
	{name: "infiniband.grh.sgid", value: grhField(func(g *fabric.GRH) any { return netip.AddrFrom16(g.SGID.As16()) })},
	{name: "infiniband.grh.dgid", value: grhField(func(g *fabric.GRH) any { return netip.AddrFrom16(g.DGID.As16()) })},
}

func lrhField(value func(*fabric.LRH) any) func(*trace.Packet) string {
	return func(p *trace.Packet) string {
		if p.LRH == nil {
			return ""
		}
		return fmt.Sprint(value(p.LRH))
	}
}

func grhField(value func(*fabric.GRH) any) func(*trace.Packet) string {
	return func(p *trace.Packet) string {
		if p.GRH == nil {
			return ""
		}
		return fmt.Sprint(value(p.GRH))
	}
}

// sharkBTH are the fields of sharkFields that do not depend on the outer headers.
func sharkBTH() (fields []networkField) {
	for _, f := range sharkFields {
		if strings.HasPrefix(f.name, "infiniband.") {
			fields = append(fields, networkField{name: f.name, value: f.value, last: true})
		}
	}
	return fields
}

// table runs tshark and returns the values of the fields in each frame that filter matches.
func table(t *testing.T, path, filter, occurrence string, names []string) [][]string {
	t.Helper()
	args := []string{"-r", path, "-Y", filter, "-T", "fields", "-E", "occurrence=" + occurrence,
		"-d", "udp.port==8472,vxlan", "-e", "frame.number"}
	for _, n := range names {
		args = append(args, "-e", n)
	}
	var rows [][]string
	for line := range strings.Lines(string(shark(t, args...))) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// onDisk writes a capture of testdata, unzipped, to a file of its own.
func onDisk(t *testing.T, name string) string {
	t.Helper()
	in := io.Reader(nil)
	if strings.HasSuffix(name, ".gz") {
		in = unzip(t, name)
	} else {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(name), ".gz"))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// compare compares the packets of a capture with tshark's fields, and returns their number.
func compare(t *testing.T, path string, fields []networkField) int {
	t.Helper()
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	rows := table(t, path, "infiniband.bth and not icmp", "a", names) // not those that ICMP quotes
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		if n++; n > len(rows) {
			return
		}
		row := rows[n-1]
		if row[0] != fmt.Sprint(p.Number) {
			t.Fatalf("frame %d, tshark has %s", p.Number, row[0])
		}
		for i, f := range fields {
			want := row[i+1]
			if f.last {
				want = want[strings.LastIndexByte(want, ',')+1:]
			}
			if got := f.value(p); !same(got, want) {
				t.Errorf("frame %d: %s is %q, tshark says %q", p.Number, f.name, got, want)
			}
		}
	})
	if n != len(rows) {
		t.Errorf("%d packets, tshark finds %d", n, len(rows))
	}
	return n
}

func TestTheFieldsOfTunnelsAgreeWithTshark(t *testing.T) {
	names := []string{"tunnels/erspan2_cut.pcap.gz", "tunnels/erspan3_cut.pcap.gz", "specs/vxlan_gpe.pcap",
		"specs/geneve_options.pcap"}
	for _, l := range linuxTunnels {
		names = append(names, "tunnels/"+l.file+".pcap.gz")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			fields := sharkTunnels
			if !strings.Contains(name, "_cut") { // tshark takes captured bytes of truncated packets for the ICRC
				fields = append(sharkBTH(), fields...)
			}
			if n := compare(t, onDisk(t, name), fields); n == 0 {
				t.Error("no packets")
			}
		})
	}
}

func TestTheFieldsOfRoCEv1AndInfiniBandAgreeWithTshark(t *testing.T) {
	for _, name := range []string{"specs/rocev1.pcap", "specs/erf.pcap"} { // tshark 4.0 cannot read DLT 247
		t.Run(name, func(t *testing.T) {
			if n := compare(t, onDisk(t, name), append(sharkBTH(), sharkLocal...)); n == 0 {
				t.Error("no packets")
			}
		})
	}
}

// foreigns returns the Foreigns of a capture that keep selects, as rows of table.
func foreigns(t *testing.T, path string, keep func(*trace.Foreign) bool,
	row func(*trace.Foreign) []any) (rows [][]string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	d := trace.Decoder{Foreign: func(f *trace.Foreign) {
		if !keep(f) {
			return
		}
		cells := []string{fmt.Sprint(f.Number)}
		for _, v := range row(f) {
			cells = append(cells, fmt.Sprint(v))
		}
		rows = append(rows, cells)
	}}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(*trace.Packet) {})
	}
	return rows
}

// sameRows compares rows with those of tshark.
func sameRows(t *testing.T, names []string, got, want [][]string) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d rows, tshark has %d:\n%q\n%q", len(got), len(want), got, want)
	}
	for i := range got {
		for j := range got[i] {
			if !same(got[i][j], want[i][j]) {
				t.Errorf("frame %s: %s is %q, tshark says %q", got[i][0], append([]string{"frame.number"}, names...)[j],
					got[i][j], want[i][j])
			}
		}
	}
}

func TestTheFieldsOfPauseFramesAgreeWithTshark(t *testing.T) {
	path := onDisk(t, "specs/pause.pcap")
	names := []string{"macc.opcode", "macc.pause_time", "macc.cbfc.enbv"}
	for c := range 8 {
		names = append(names, fmt.Sprintf("macc.cbfc.pause_time.c%d", c))
	}
	got := foreigns(t, path, func(f *trace.Foreign) bool { return f.Pause != nil }, func(f *trace.Foreign) []any {
		p := f.Pause
		if !p.PFC {
			return []any{1, p.Quanta[0], "", "", "", "", "", "", "", "", ""}
		}
		row := []any{0x101, "", p.Classes}
		for _, q := range p.Quanta {
			row = append(row, q)
		}
		return row
	})
	sameRows(t, names, got, table(t, path, "macc", "f", names))
}

// iwarpNames are fields of FPDUs.
var iwarpNames = []string{"iwarp_mpa.ulpdulength", "iwarp_ddp.tagged_flag", "iwarp_ddp.last_flag", "iwarp_rdma.opcode",
	"iwarp_ddp.stag", "iwarp_ddp.tagged_offset", "iwarp_ddp.qn", "iwarp_ddp.msn", "iwarp_ddp.mo",
	"iwarp_rdma.rdmardsz", "iwarp_rdma.sinkstag", "iwarp_rdma.sinkto", "iwarp_rdma.srcstag", "iwarp_rdma.srcto"}

func iwarpRow(f *trace.Foreign) []any {
	u := &f.MPA.ULPDU
	row := []any{f.MPA.Len, flag(u.Tagged), flag(u.Last), uint8(u.Opcode)}
	if u.Tagged {
		row = append(row, u.STag, u.Offset, "", "", "")
	} else {
		row = append(row, "", "", u.QN, u.MSN, u.MO)
	}
	if r := &u.Read; u.Opcode == iwarp.ReadRequest {
		return append(row, r.Size, r.SinkSTag, r.SinkOffset, r.SourceSTag, r.SourceOffset)
	}
	return append(row, "", "", "", "", "")
}

// tshark loses an FPDU boundary after a missing segment, so the comparison ends before, and it
// shows an FPDU that spans segments at the last one.
func TestTheFieldsOfIWARPAgreeWithTshark(t *testing.T) {
	for _, tt := range []struct {
		name, filter string
		keep         func(*trace.Foreign) bool
	}{
		{"specs/iwarp.pcap", "iwarp_ddp and frame.number < 8 and frame.number != 5",
			func(f *trace.Foreign) bool { return f.Number < 8 && f.Number != 5 }},
		{"iwarp/siw.pcap.gz", "iwarp_ddp and frame.number < 46", func(f *trace.Foreign) bool { return f.Number < 46 }},
		{"iwarp/siw_crc.pcap.gz", "iwarp_ddp and frame.number < 45",
			func(f *trace.Foreign) bool { return f.Number < 45 }},
		{"specs/iwarp_nocrc.pcap", "iwarp_ddp and frame.number < 5",
			func(f *trace.Foreign) bool { return f.Number < 5 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := onDisk(t, tt.name)
			got := foreigns(t, path, func(f *trace.Foreign) bool { return f.MPA.Kind == iwarp.FPDU && tt.keep(f) },
				iwarpRow)
			sameRows(t, iwarpNames, got, table(t, path, tt.filter, "f", iwarpNames))
		})
	}
}
