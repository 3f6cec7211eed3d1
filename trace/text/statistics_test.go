package text_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/latency"
	"github.com/gorxe/gorxe/trace/series"
	"github.com/gorxe/gorxe/trace/summary"
	"github.com/gorxe/gorxe/trace/text"
)

// through passes a capture to an output.
func through(t *testing.T, name string, o trace.Output) *trace.Pipeline {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &trace.Pipeline{Outputs: []trace.Output{o}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return p
}

func summaryText(t *testing.T, r *summary.Report, o text.SummaryOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.WriteSummary(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStatisticsOfCaptures(t *testing.T) {
	for _, name := range []string{"loss_write.pcap.gz", "rcops.pcap.gz", "rping.pcap"} {
		base, _, _ := strings.Cut(name, ".")
		s := summary.New(summary.Options{})
		p := through(t, name, s)
		golden.Check(t, base+"_summary.txt",
			summaryText(t, s.Report(summary.InputOf(p)), text.SummaryOptions{Title: name}))
	}
	var b bytes.Buffer
	c := series.New(series.Options{Rows: 20})
	through(t, "loss_write.pcap.gz", c)
	if err := text.WriteSeries(&b, c, false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "loss_write_series.txt", b.String())
	b.Reset()
	l := latency.New()
	through(t, "loss_write.pcap.gz", l)
	if err := text.WriteLatency(&b, l); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "loss_write_latency.txt", b.String())
}

// sick returns the report of a cluster in which everything occurs, with addresses from addr.
func sick(addr func(i int) netip.Addr) *summary.Report {
	s := summary.New(summary.Options{})
	start := time.Unix(1000, 0)
	kinds := trace.Kinds()
	for i := range 30 {
		f := &trace.Flow{Number: 10_000_000 + i, Packets: 1 << 40, Payload: 1 << 50, First: 1 << 40,
			Ends: [2]trace.End{{Addr: addr(i), QPN: 0xffffff}, {Addr: addr(i + 1)}}}
		e := uint64(1) << 40
		f.Again, f.Duplicates, f.LostBefore, f.LostBehind, f.NAKs, f.RNRs, f.CNPs, f.CE, f.Timeouts, f.Undecided =
			e, e, e, e, e, e, e, e, e, e
		f.Evicted = true
		if i < 5 {
			f.Err = "NAK remote access error in frame 12345678, and a long explanation of what that means for the connection"
		}
		p := &trace.Packet{Flow: f, Number: 123_456_789, Part: 1, Len: 4096, Delivered: 1 << 30,
			Time: start.Add(time.Duration(i%7) * 20 * time.Second),
			Src:  netip.AddrPortFrom(addr(i), 1), Dst: netip.AddrPortFrom(addr(i+1), 4791),
			IP: trace.IP{TrafficClass: byte(i)<<2 | 3}}
		p.Events = trace.Events{Again: 1 << 40, LostBefore: 1 << 40, LostBehind: 1 << 40, NAKs: 1 << 40, RNRs: 1 << 40,
			CNPs: 1 << 40, CE: 1 << 40, Timeouts: 1 << 40, Undecided: 1 << 40, Duplicates: 1 << 40}
		p.Findings = []trace.Finding{{Kind: kinds[i%len(kinds)], Level: trace.Level(i%3 - 0), Text: "text"}}
		_ = s.Packet(p)
		for j, verb := range trace.Verbs() {
			_ = s.Message(&trace.Message{Verb: verb, Bytes: 1 << (i + j), Flow: f, Done: true, Begin: start,
				End: start.Add(time.Duration(i+1) * 1234567)})
		}
		_ = s.Flow(f)
	}
	for class := range congestion.GlobalPause + 1 {
		s.AddPause(class, time.Second)
	}
	counts := trace.Counts{Frames: 1 << 40, Cut: 1 << 40, Wrong: 1 << 40, Failed: 1 << 40, Merged: 1 << 40}
	for i := range counts.Skipped {
		counts.Skipped[i] = 1 << 40
	}
	return s.Report(summary.Input{Counts: counts, Missing: 1 << 40})
}

func address4(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 218, byte(100 + i), byte(200 + i)})
}

func address6(i int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("2001:db8:1234:5678:9abc:def0:1234:%x", 0x1000+i))
}

func TestASummaryFitsOneScreen(t *testing.T) {
	for _, tt := range []struct {
		name string
		addr func(int) netip.Addr
	}{{"sick4", address4}, {"sick6", address6}} {
		for _, title := range []string{"cluster.pcapng", strings.Repeat("long/", 50), "\x1b[2J\n"} {
			got := summaryText(t, sick(tt.addr), text.SummaryOptions{Title: title})
			if n := strings.Count(got, "\n"); n > 40 {
				t.Errorf("%s, %q: %d lines", tt.name, title, n)
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%s: %d columns: %s", tt.name, n, line)
				}
				if strings.ContainsAny(line, "\x1b\r") {
					t.Errorf("%s: control characters: %q", tt.name, line)
				}
			}
		}
		golden.Check(t, tt.name+"_summary.txt", summaryText(t, sick(tt.addr), text.SummaryOptions{Title: "cluster.pcapng"}))
		coloured := summaryText(t, sick(tt.addr), text.SummaryOptions{Title: "cluster.pcapng", Colour: true})
		plain := strings.ReplaceAll(strip(coloured), "\x1b[36m", "")
		if plain != summaryText(t, sick(tt.addr), text.SummaryOptions{Title: "cluster.pcapng"}) || plain == coloured {
			t.Errorf("%s: in colour it is another text", tt.name)
		}
	}
}

func TestASummaryOfNothing(t *testing.T) {
	got := summaryText(t, summary.New(summary.Options{}).Report(summary.Input{}), text.SummaryOptions{})
	if !strings.Contains(got, "0 packets") || strings.Contains(got, "worst") {
		t.Errorf("%s", got)
	}
}

func TestCongestionHasFlowsDSCPsAndPauses(t *testing.T) {
	c := congestion.New()
	begin := time.Unix(1000, 0)
	for i := range 3 {
		f := &trace.Flow{Number: i + 1,
			Ends: [2]trace.End{{Addr: address4(0), QPN: 0x11}, {Addr: address4(1), QPN: 0x22}}}
		for j := range 10 * (i + 1) {
			p := &trace.Packet{Flow: f, Time: begin.Add(time.Duration(j) * time.Microsecond), Role: trace.Request,
				Src: netip.AddrPortFrom(address4(0), 1), Dst: netip.AddrPortFrom(address4(1), 1),
				IP: trace.IP{TrafficClass: 26<<2 | 2}}
			switch j % 5 {
			case 2:
				p.IP.TrafficClass |= 1
			case 3:
				p.Role, p.Src, p.Dst, p.IP.TrafficClass = trace.CNP, p.Dst, p.Src, 48<<2
			}
			if err := c.Packet(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.AddPause(3, 100*time.Microsecond)
	c.AddPause(3, 0)
	c.AddPause(congestion.GlobalPause, time.Millisecond)
	var b bytes.Buffer
	if err := text.WriteCongestion(&b, c, 2); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "congestion.txt", b.String())
}

func TestSeriesSayWhatTheyAreOf(t *testing.T) {
	c := series.New(series.Options{Interval: 100 * time.Nanosecond, Flows: 1})
	ends := [2]trace.End{{Addr: address4(0)}, {Addr: address4(1)}}
	f := [2]*trace.Flow{{Number: 1, Ends: ends}, {Number: 2, Ends: ends, Timeouts: 1}}
	for i := range 4 {
		p := &trace.Packet{Flow: f[i%2], Time: time.Unix(1000, int64(i)*100), Len: 100, Delivered: 50, InFlight: i,
			RTT: time.Duration(i) * time.Microsecond, IP: trace.IP{TrafficClass: 3},
			Events: trace.Events{CE: 1, LostBefore: int64(i), Timeouts: 1}}
		if err := c.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := text.WriteSeries(&b, c, false); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "series.txt", b.String())
}
