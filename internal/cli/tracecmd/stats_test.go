package tracecmd

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
)

func TestStatisticsReplaceTheLinesOfPackets(t *testing.T) {
	for _, tt := range []struct{ line, has string }{
		{"trace --summary", "standard input: 3 packets, "},
		{"trace --summary", "error nak_error "},
		{"trace --summary --filter op==send", "nothing is wrong"},
		{"trace --series", "all packets, every "},
		{"trace --series=1ms", "all packets, every 1ms\n"},
		{"trace --series=1s -", "flow 1  RC  198.18.0.2/? → 198.18.0.3/0x000011, every 1s"},
		{"trace --latency", "SEND                        8 B         1"},
		{"trace --congestion", "DSCP"},
		{"trace --packets", "SEND #1 of 6 bytes"},
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(aConversation(t))
		r := w.Run(t.Context(), tt.line)
		clitest.MustSucceed(t, tt.line, r)
		out := r.Stdout.String()
		if lines := strings.Contains(out, "SEND #1"); !strings.Contains(out, tt.has) ||
			lines != strings.Contains(tt.line, "--packets") {
			t.Errorf("%s:\n%s", tt.line, out)
		}
	}
}

func TestStatisticsAsJSONAreAnObjectALine(t *testing.T) {
	for _, tt := range []struct{ line, kind string }{
		{"trace --json --summary", "summary"}, {"trace --json --series", "series"},
		{"trace --json --latency", "latency"},
		{"trace --json --congestion", "congestion"},
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(aConversation(t))
		r := w.Run(t.Context(), tt.line)
		clitest.MustSucceed(t, tt.line, r)
		n := 0
		for line := range strings.Lines(r.Stdout.String()) {
			var o map[string]any
			if err := json.Unmarshal([]byte(line), &o); err != nil || o["type"] != tt.kind {
				t.Errorf("%s: %q: %v", tt.line, line, err)
			}
			n++
		}
		if n == 0 {
			t.Errorf("%s writes nothing", tt.line)
		}
	}
}

func TestCSVHasAHeaderLineAndARowEach(t *testing.T) {
	for _, tt := range []struct {
		line, column string
		rows         int
	}{
		{"trace --csv --flows", "rtt_min_ns", 2}, {"trace --csv --messages", "latency_ns", 1},
		{"trace --csv --series=1s", "goodput_bps", 3}, {"trace --csv --latency", "p99_9_ns", 1},
		{"trace --csv --congestion", "ce_share", 1},
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(aConversation(t))
		r := w.Run(t.Context(), tt.line)
		clitest.MustSucceed(t, tt.line, r)
		rows, err := csv.NewReader(&r.Stdout).ReadAll()
		if err != nil || len(rows) != tt.rows+1 || !strings.Contains(strings.Join(rows[0], " "), tt.column) {
			t.Errorf("%s: %v, %v", tt.line, rows, err)
		}
	}
}

func TestContradictoryStatisticsAreUsageErrors(t *testing.T) {
	for _, tt := range []struct{ line, err string }{
		{"--summary --series", "give only one of --summary, --series"},
		{"--latency --flows", "give only one of --latency, --flows"},
		{"--congestion --messages", "give only one of --congestion, --messages"},
		{"--packets --summary", "give only one of --summary, --packets"},
		{"--packets --flows", "give only one of --flows, --packets"},
		{"--csv --flows --messages", "give only one of --messages, --flows"},
		{"--csv", "--csv needs --flows"}, {"--csv --summary", "--csv needs --flows"},
		{"--csv --packets", "--csv needs --flows"},
		{"--csv --json --flows", "give --csv or --json, not both"},
		{"--series=fast", "--series=fast: give a time such as 10ms"}, {"--series=-1s", "give a time"},
		{"--series=0s", "give a time"},
		{"--summary -v", "-v is for the lines of packets, which --summary replaces"},
		{"--latency --payload", "--payload is for the lines of packets, which --latency replaces"},
		{"--series --explain", "--explain is for the lines of packets, which --series replaces"},
	} {
		r := newWorld().Run(t.Context(), "trace "+tt.line+" -")
		if r.Code != 2 || !strings.Contains(r.Stderr.String(), tt.err) || r.Stdout.Len() > 0 {
			t.Errorf("%s: %v", tt.line, r)
		}
	}
}

func TestAnIntervalThatIsTooShortDoublesAndSaysSo(t *testing.T) {
	w := newWorld()
	w.Stdin = bytes.NewReader(aConversation(t))
	r := w.Run(t.Context(), "trace --series=1ns")
	if r.Code != 0 || !strings.Contains(r.Stderr.String(), "the interval is 32ns instead of 1ns") {
		t.Errorf("%v", r)
	}
}

// large returns a file of more than largeFile bytes: packets, and then frames that are not RoCEv2.
func large(t *testing.T) string {
	captured := aConversation(t)
	path := filepath.Join(t.TempDir(), "large.pcap")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(captured); err != nil {
		t.Fatal(err)
	}
	const n = 200_000
	record := make([]byte, 16+n)
	binary.LittleEndian.PutUint32(record[8:], n)
	binary.LittleEndian.PutUint32(record[12:], n)
	for written := 0; written <= largeFile; written += len(record) {
		if _, err := f.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestASummaryIsTheDefaultForALargeFileOnATerminal(t *testing.T) {
	path := large(t)
	for _, tt := range []struct {
		name, flags string
		terminal    bool
		summary     bool
	}{
		{"terminal", "", true, true}, {"no terminal", "", false, false}, {"lines", "--packets ", true, false},
		{"filter", "--filter qp==0x11 ", true, false}, {"flows", "--flows ", true, false},
		{"fields", "-v ", true, false},
		{"JSON", "--json ", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.Terminal = tt.terminal
			r := w.Run(t.Context(), "trace "+tt.flags+path)
			if got := r.Code == 0 && strings.Contains(r.Stdout.String(), "large.pcap: 3 packets"); got != tt.summary {
				t.Errorf("summary: %v\n%s", got, &r.Stdout)
			}
			want := "a summary follows; for a line per packet give --packets"
			if got := strings.Contains(r.Stderr.String(), want); got != tt.summary {
				t.Errorf("stderr says so: %v: %s", got, &r.Stderr)
			}
		})
	}
	small := filepath.Join(t.TempDir(), "small.pcap")
	if err := os.WriteFile(small, aConversation(t), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	w.Terminal = true
	if r := w.Run(t.Context(), "trace "+small); !strings.Contains(r.Stdout.String(), "SEND #1") {
		t.Errorf("a small file: %v", r)
	}
}
