package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/histogram"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/packet/fault"
	"pgregory.net/rapid"
)

// rows returns the lines of the result table, blanks squeezed.
func rows(r *clitest.Run) []string {
	var out []string
	for _, line := range strings.Split(r.Stdout.String(), "\n") {
		f := strings.Fields(line)
		if len(f) > 3 && regexp.MustCompile(`^[0-9]+$`).MatchString(f[0]) {
			out = append(out, strings.Join(f, " "))
		}
	}
	return out
}

func TestPerfEveryTestWithEveryFlag(t *testing.T) {
	for _, test := range wire.Tests {
		if test.Atomic() {
			continue // of one size; see perf_atomic_test.go
		}
		flags := []string{"-n 20 -s 2", "-n 20 -s 1023 -m 256", "-n 20 -s 1025", "-n 5 -s 65536 -m 1024", "-n 5 -a",
			"-n 300 -s 64"}
		if !test.Latency() {
			flags = append(flags, "-n 20 -s 1025 -q 4", "-n 20 -s 1025 -b", "-n 5 -a -b -q 2", "-n 100 -l 20 -s 100",
				"-n 1000 -s 100 -t 10", "-n 1000 -s 9000 -Q 7", "-n 50 -N")
		}
		if test.Fetches() {
			flags = append(flags, "-n 20 -o 1", "-n 20 -s 20000 -o 128")
		}
		if test.Write() {
			for _, f := range slices.Clone(flags) {
				flags = append(flags, f+" --write_with_imm")
			}
			flags = append(flags, "-n 1000 --write_with_imm -r 7 -s 3000")
		}
		if !test.Fetches() {
			flags = append(flags, "-n 20 -s 100 -I 100", "-n 20 -s 101 -I 100", "-n 5 -a -I 512")
		}
		if test.Send() {
			flags = append(flags, "-n 20 -r 1", "-n 1000 -r 7 -s 3000")
		}
		for _, f := range flags {
			line := fmt.Sprintf("perf %v %s", test, f)
			if clitest.TooLong(line) && (test.Latency() || f != "-n 5 -a") {
				continue
			}
			server, client := clitest.Ends(line)
			s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.MTU = 9000; return w }, server, client)
			clitest.MustSucceed(t, line, s, c)
			wantRows := 1
			if strings.Contains(f, "-a") {
				wantRows = 23
			}
			for role, r := range []*clitest.Run{s, c} {
				want := wantRows
				switch {
				case test == wire.ReadLat && role == 0:
					want = 0 // the server of ib_read_lat prints none either
				case (test == wire.ReadBW || test == wire.WriteBW && !strings.Contains(f, "--write_with_imm")) &&
					role == 0 && !strings.Contains(f, "-b"):
					want = 1 // the last one, which the client sends
				}
				if got := rows(r); len(got) != want {
					t.Errorf("%s: role %d printed %d rows, want %d: %v", line, role, len(got), want, r)
				}
			}
		}
	}
}

func TestPerfOverABadNetwork(t *testing.T) {
	for _, test := range wire.Tests {
		for _, f := range []fault.Config{{Seed: 1, Drop: 0.05}, {Seed: 2, Duplicate: 0.1, Reorder: 0.05}} {
			line := fmt.Sprintf("perf %v -n 50", test)
			if !test.Atomic() {
				line += " -s 5000"
			}
			server, client := clitest.Ends(line)
			s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.Fault = f; return w }, server, client)
			clitest.MustSucceed(t, line, s, c)
		}
	}
}

func TestPerfOutputLayout(t *testing.T) {
	for test, line := range map[string]string{
		"write_bw": "perf write_bw -n 10", "send_bw_b": "perf send_bw -n 10 -b -q 2 --report_gbits",
		"read_lat":  "perf read_lat -n 10",
		"write_lat": "perf write_lat -n 10", "write_bw_uc": "perf write_bw -c UC -n 10",
		"atomic_bw":     "perf atomic_bw -n 10 -A CMP_AND_SWAP -o 4",
		"write_lat_imm": "perf write_lat -n 10 --write_with_imm -I 64",
	} {
		server, client := clitest.Ends(line)
		s, c := clitest.Pair(t, newWorld, server, client)
		for role, r := range map[string]*clitest.Run{"server": s, "client": c} {
			text := r.Stdout.String()
			text = regexp.MustCompile(`(QPN|PSN|RKey|VAddr) 0x[0-9a-f]+`).ReplaceAllString(text, "$1 0x…")
			// In the bubble only retransmissions take time, so numbers other than those of
			// messages mean nothing.
			text = regexp.MustCompile(`(?m) \d+\.\d\d+( |$)`).ReplaceAllString(text, " 0.00$1")
			text = regexp.MustCompile(`(?m) \d+\.\d\d+( |$)`).ReplaceAllString(text, " 0.00$1")
			text = regexp.MustCompile(`(0\.00) +`).ReplaceAllString(text, "$1 ")
			golden.Check(t, test+"_"+role+".golden", text)
		}
	}
}

func TestPerfJSON(t *testing.T) {
	for _, line := range []string{"perf write_bw -n 10 --json -b", "perf send_lat -n 10 --json -a",
		"perf read_bw -n 10 --json"} {
		if clitest.TooLong(line) {
			continue
		}
		server, client := clitest.Ends(line)
		s, c := clitest.Pair(t, newWorld, server, client)
		clitest.MustSucceed(t, line, s, c)
		for _, r := range []*clitest.Run{s, c} {
			var got struct {
				Test     string
				Role     string
				Results  []struct{ Bytes, Iterations uint64 }
				Counters map[string]uint64
			}
			if err := json.Unmarshal(r.Stdout.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v: %v", line, err, r)
			}
			if got.Test != strings.Fields(line)[1] || len(got.Results) == 0 || got.Results[0].Iterations != 10 ||
				len(got.Counters) == 0 {
				t.Errorf("%s: %+v", line, got)
			}
		}
	}
}

// With -H the JSON result contains a histogram of all messages except the first: a time is
// measured between two messages.
func TestPerfHistogramInJSON(t *testing.T) {
	server, client := clitest.Ends("perf send_lat -n 50 --json -H")
	s, c := clitest.Pair(t, newWorld, server, client)
	clitest.MustSucceed(t, client, s, c)
	var got struct {
		Results []struct {
			Latency struct{ Histogram []histogram.Bucket }
		}
	}
	if err := json.Unmarshal(c.Stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v: %v", err, c)
	}
	var count int64
	for _, b := range got.Results[0].Latency.Histogram {
		count += b.Count
	}
	if count != 49 {
		t.Errorf("the histogram has %d times, want 49: %v", count, c)
	}
}

// All modes of waiting get completions. In a bubble, goroutines cannot sleep while another one
// polls without a pause, so this takes real time.
func TestPerfWaitsAsItIsTold(t *testing.T) {
	for _, how := range []string{"-e", "--busy-poll"} {
		w := newWorld()
		server, client := clitest.Ends("perf send_lat -n 20 " + how)
		s, c := w.Start(t.Context(), server), w.Start(t.Context(), client)
		<-s.Done
		<-c.Done
		clitest.MustSucceed(t, client, s, c)
	}
}

// An end that loses incoming packets requests them again; its outgoing packets are not affected.
func TestPerfFaultsInWhatArrives(t *testing.T) {
	server, client := clitest.Ends("perf read_bw -n 200 -s 4096 --json")
	s, c := clitest.Pair(t, newWorld, server, client+" --fault-in drop=5%,seed=3")
	clitest.MustSucceed(t, client, s, c)
	resent := func(r *clitest.Run) uint64 {
		var got struct{ Counters map[string]uint64 }
		if err := json.Unmarshal(r.Stdout.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got.Counters["retransmitted_pkts"]
	}
	if resent(c) == 0 {
		t.Errorf("nothing was lost: %v", c)
	}
}

func TestPerfProfile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cpu.prof")
	w := newWorld()
	server, client := clitest.Ends("perf write_bw -n 100")
	s, c := w.Start(t.Context(), server), w.Start(t.Context(), client+" --cpuprofile "+name)
	<-s.Done
	<-c.Done
	clitest.MustSucceed(t, client, s, c)
	text, err := os.ReadFile(name)
	if err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		t.Errorf("the profile is %d bytes, not compressed, %v", len(text), err)
	}
	r := w.Run(t.Context(), "perf write_bw --cpuprofile "+filepath.Join(name, "x"))
	if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "--cpuprofile") {
		t.Error(r)
	}
}

// -D needs real time: in a bubble, time does not advance while packets are in flight.
func TestPerfForATime(t *testing.T) {
	for _, line := range []string{
		"perf write_bw -D 1 -f 0", "perf send_bw -D 1 -f 0 -b", "perf send_lat -D 1 -f 0",
		"perf write_lat -D 1 -f 0", "perf read_bw -D 1 -f 0 -q 2",
		"perf atomic_bw -D 1 -f 0", "perf write_lat -D 1 -f 0 --write_with_imm",
		"perf write_bw -D 1 -f 0 --write_with_imm -b",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			server, client := clitest.Ends(line)
			s, c := w.Start(t.Context(), server), w.Start(t.Context(), client)
			<-s.Done
			<-c.Done
			clitest.MustSucceed(t, line, s, c)
			if len(rows(c)) != 1 {
				t.Error(c)
			}
		})
	}
}

func TestPerfWithDifferentParametersFailsAtBothEnds(t *testing.T) {
	for _, tt := range []struct{ server, client, want string }{
		{"perf write_bw -s 1024 -n 10", "perf write_bw -s 65536 -n 10", "give both ends the same size"},
		{"perf send_bw -s 1024 -n 10", "perf send_bw -s 65536 -n 10", "the same"},
		{"perf write_bw -s 64 -n 10 -t 1", "perf send_bw -s 64 -n 10 -t 1",
			"the peer posts no receives: it must be ib_send_bw"},
		{"perf write_bw -n 10", "perf write_bw -n 10 -q 2", "the same"},
		{"perf read_lat -n 10", "perf write_lat -n 10", "the peer is silent: it has ended, or it is not ib_write_lat"},
	} {
		s, c := clitest.Pair(t, newWorld, tt.server+" -d 127.66.0.1", tt.client+" -d 127.66.0.2 127.66.0.1")
		texts := s.Stderr.String() + c.Stderr.String()
		if s.Code != app.ExitFailure || c.Code != app.ExitFailure || !strings.Contains(texts, tt.want) {
			t.Errorf("%s against %s: server %v\nclient %v", tt.server, tt.client, s, c)
		}
		for _, r := range []*clitest.Run{s, c} {
			if n := strings.Count(r.Stderr.String(), "\n"); n != 1 {
				t.Errorf("%s against %s: %d lines of error: %q", tt.server, tt.client, n, r.Stderr.String())
			}
		}
	}
}

func TestPerfLimits(t *testing.T) {
	server, client := clitest.Ends("perf write_bw -n 10")
	_, c := clitest.Pair(t, newWorld, server, client+" -w 1e12")
	if c.Code != app.ExitFailure ||
		!strings.Contains(c.Stderr.String(), "is below the limit of 1000000000000.00 (-w)") {
		t.Error(c)
	}
}

func TestPerfOverTheMTUThatBothHave(t *testing.T) {
	server, client := clitest.Ends("perf write_bw -n 10")
	s, c := clitest.Pair(t, newWorld, server+" -m 256", client)
	clitest.MustSucceed(t, "-m 256", s, c)
	for _, r := range []*clitest.Run{s, c} {
		if !strings.Contains(r.Stdout.String(), "256[B]") {
			t.Error(r)
		}
	}
}

func completed(t *testing.T, test wire.Test, args ...string) *params {
	t.Helper()
	a := &app.App{}
	p := &params{test: test}
	c := testCommand(a, test)
	c.ResetFlags()
	p.addFlags(c.Flags())
	if err := c.Flags().Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := p.complete(context.Background(), c.Flags()); err != nil {
		t.Fatal(err)
	}
	return p
}

// Queue depths and moderation follow perftest's rules. Otherwise its completions would be counted
// wrong.
func TestPerfParametersFollowFromEachOther(t *testing.T) {
	type derived struct{ Tx, Rx, CQMod, Iters int }
	for _, tt := range []struct {
		test wire.Test
		args string
		want derived
	}{
		{wire.WriteBW, "", derived{128, 1, 1, 5000}},
		{wire.WriteBW, "-s 8192", derived{128, 1, 100, 5000}},
		{wire.WriteBW, "-s 8193", derived{128, 1, 1, 5000}},
		{wire.WriteBW, "-a", derived{128, 1, 100, 5000}},
		{wire.WriteBW, "-s 2 -n 50", derived{50, 1, 50, 50}},
		{wire.WriteBW, "-s 64K -Q 5", derived{128, 1, 5, 5000}},
		{wire.WriteBW, "-s 2 -l 20", derived{128, 1, 20, 5000}},
		{wire.WriteBW, "--write_with_imm", derived{128, 512, 1, 5000}},
		{wire.WriteLat, "--write_with_imm -n 7", derived{1, 8, 1, 7}},
		{wire.AtomicBW, "", derived{128, 1, 100, 1000}},
		{wire.SendBW, "", derived{128, 512, 1, 1000}},
		{wire.SendBW, "-n 101", derived{101, 102, 1, 101}},
		{wire.SendBW, "-n 101 -a", derived{101, 101, 100, 101}},
		{wire.SendLat, "", derived{1, 512, 1, 1000}},
		{wire.ReadLat, "", derived{1, 1, 1, 1000}},
	} {
		p := completed(t, tt.test, strings.Fields(tt.args)...)
		if diff := cmp.Diff(tt.want, derived{p.txDepth, p.rxDepth, p.cqMod, p.iters}); diff != "" {
			t.Errorf("%v %s: %s", tt.test, tt.args, diff)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]uint64{"1": 1, "64K": 65536, "64k": 65536, "1g": 1 << 30, "8M": 8 << 20,
		"0x10": 16, "2147483647": 2147483647, "2047M": 2047 << 20} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "K", "-1", "1.5", "2147483648", "2048M", "99999999999999999999"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

// For any message size, consecutive messages stay within their half of the buffer, where the peer
// expects them.
func TestMessagesStayInTheirHalf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycle := uint64(1) << rapid.IntRange(12, 16).Draw(t, "cycle")
		line := uint64(1) << rapid.IntRange(6, 8).Draw(t, "line")
		size := rapid.Uint64Range(1, 1<<18).Draw(t, "size")
		e := &end{cycle: cycle, cacheLine: line, params: &params{size: size}}
		base := rapid.Uint64Range(0, 1<<40).Draw(t, "base")
		w := newWalker(base, size, cycle, line)
		seen := map[uint64]bool{}
		for range 200 {
			at := w.next()
			if at < base || at+size > base+e.half() {
				t.Fatalf("a message at %d..%d leaves the half %d..%d", at, at+size, base, base+e.half())
			}
			seen[at] = true
		}
		if size <= cycle/2 && len(seen) < 2 {
			t.Fatal("small messages must walk")
		}
	})
}

func TestTheBufferIsLaidOutAsPerftests(t *testing.T) {
	p := &params{size: 10001, qps: 2}
	e := &end{cycle: 4096, cacheLine: 64, params: p, qps: make([]*queuePair, 2)}
	// ib_write_bw -s 10001: the capture shows VADDR = page + 10001 for one QP.
	if got := e.halfOffset(1); got != 3*10001 {
		t.Errorf("the peer is sent to offset %d for QP 1, want %d", got, 3*10001)
	}
	if got := e.receiveOffset(1); got != 3*10048 {
		t.Errorf("receives of QP 1 are at offset %d, want %d", got, 3*10048)
	}
}

func TestPeakIsTheFastestStretch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		posted, acked := make([]time.Duration, n), make([]time.Duration, n)
		at := time.Duration(0)
		for i := range n {
			posted[i] = at
			acked[i] = max(at+time.Duration(1+r.IntN(2000)), acked[max(i-1, 0)])
			at += time.Duration(r.IntN(1000))
		}
		want := math.Inf(1)
		for i := range n {
			for j := i; j < n; j++ {
				want = min(want, float64(acked[j]-posted[i])/float64(j-i+1))
			}
		}
		if got := peakGap(posted, acked); math.Abs(got-want) > 1e-6 {
			t.Fatalf("got %v ns per message, want %v", got, want)
		}
	})
	if got := peakGap(nil, nil); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestLatencyColumns(t *testing.T) {
	var times []float64
	for i := 1; i <= 1002; i++ {
		times = append(times, float64((i*631)%1002+1)) // 1..1002 in some order
	}
	got := summarize(times)
	want := latencyStats{Min: 1, Max: 1001, Typical: 500.5, Average: 500.5, StdDev: math.Sqrt((1000*1000 - 1) / 12.0),
		P99: 991, P999: 1000}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
		t.Error(diff)
	}
	if got := summarize([]float64{1, 2}); got != (latencyStats{}) {
		t.Errorf("of nothing that counts: %+v", got)
	}
}

func TestBandwidthUnits(t *testing.T) {
	r := result{size: 1 << 20, counted: 100, elapsed: time.Second, peakGap: 1e6}
	for gbits, want := range map[bool]wire.Report{
		false: {Size: 1 << 20, Iters: 100, Peak: 1000, Average: 100, MsgRate: 0.0001},
		true:  {Size: 1 << 20, Iters: 100, Peak: 8.388608, Average: 0.8388608, MsgRate: 0.0001},
	} {
		if diff := cmp.Diff(want, r.report(&params{gbits: gbits}),
			cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Errorf("gbits %v: %s", gbits, diff)
		}
	}
}

func TestAPeersReportIsPrintedWhateverItSays(t *testing.T) {
	var r clitest.Run
	o := &printer{out: &r.Stdout, params: &params{test: wire.WriteBW}, role: exchange.Server}
	o.peerBandwidth(wire.Report{Size: math.MaxUint64, Average: math.NaN(), Peak: math.Inf(1)})
	o.params.json = true
	if _, err := json.Marshal(o.results); err != nil {
		t.Error(err)
	}
}

// A run detects the end of the peer's TCP connection after a delay, and does not consume the
// peer's message.
func TestTrafficEndsWithThePeersConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "perf write_lat -d 127.66.0.1 -n 1000000")
		c := w.Start(t.Context(), "perf send_lat -d 127.66.0.2 127.66.0.1 -n 5")
		<-s.Done
		<-c.Done
		if s.Code != app.ExitFailure || c.Code != app.ExitFailure {
			t.Error(s, c)
		}
	})
}
