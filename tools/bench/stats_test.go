package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorxe/gorxe/internal/histogram"
	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{7}, Spread{1, 7, 7, 7, 7, 7}},
		{[]float64{4, 1}, Spread{2, 1, 1.75, 2.5, 3.25, 4}},
		{[]float64{5, 1, 4, 2, 3}, Spread{5, 1, 2, 3, 4, 5}},
	} {
		if diff := cmp.Diff(tt.want, spread(tt.values)); diff != "" {
			t.Errorf("%v: %s", tt.values, diff)
		}
	}
}

// A ratio compares values of the same round: here the second round was slow for both, and the
// third has only one of them.
func TestRatiosAreWithinRounds(t *testing.T) {
	c := &Contest{Name: "x"}
	sample := func(who string, round int, v float64, err string) Sample {
		return Sample{Contest: "x", Contender: who, Round: round, Measured: Measured{Value: v}, Err: err}
	}
	r := &Report{Samples: []Sample{
		sample("a", 1, 30, ""), sample("b", 1, 10, ""),
		sample("b", 2, 1, ""), sample("a", 2, 3, ""), sample("a", 3, 9, ""),
		sample("a", 4, 9, ""), sample("b", 4, 1, "broken"),
		{Contest: "y", Contender: "b", Round: 3, Measured: Measured{Value: 1}},
	}}
	if got := r.ratios(c, Ratio{Of: "a", To: "b"}); !cmp.Equal(got, []float64{3, 3}) {
		t.Errorf("%v", got)
	}
	if got := r.ratios(c, Ratio{Of: "b", MinTarget: 1}); !cmp.Equal(got, []float64{10, 1}) {
		t.Errorf("without another one: %v", got)
	}
}

// Samples measured in turn with one contender are not used for the ratio to another.
func TestRatiosOfContendersInTurn(t *testing.T) {
	c := &Contest{Name: "x"}
	sample := func(who, beside string, v float64) Sample {
		return Sample{Contest: "x", Contender: who, Beside: beside, Round: 1, Measured: Measured{Value: v}}
	}
	r := &Report{Samples: []Sample{sample("a", "b", 6), sample("b", "a", 3), sample("a", "c", 10), sample("c", "a", 2)}}
	for to, want := range map[string]float64{"b": 2, "c": 5} {
		if got := r.ratios(c, Ratio{Of: "a", To: to}); !cmp.Equal(got, []float64{want}) {
			t.Errorf("a : %s is %v, want %v", to, got, want)
		}
	}
}

// The tail of a contender is computed for each round; a round without a histogram has none.
func TestTails(t *testing.T) {
	c := &Contest{Name: "x"}
	sample := func(round int, bars ...histogram.Bucket) Sample {
		return Sample{Contest: "x", Contender: "a", Round: round, Measured: Measured{Value: 1, Bars: bars}}
	}
	r := &Report{Samples: []Sample{
		sample(1, bucket(1, 90), bucket(3, 10)), sample(2), sample(3, bucket(2, 98), bucket(5, 2)),
	}}
	got := r.ratios(c, Ratio{Of: "a", Tail: true, MaxTarget: 2})
	if want := []float64{3, 2.5}; !cmp.Equal(got, want, cmpopts.EquateApprox(0.02, 0)) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestGoals(t *testing.T) {
	for _, tt := range []struct {
		r    Ratio
		v    float64
		goal string
		want bool
	}{
		{Ratio{MinTarget: 1.2}, 1.2, "≥ 1.2", true}, {Ratio{MinTarget: 1.2}, 1.1, "≥ 1.2", false},
		{Ratio{MaxTarget: 0.7}, 0.7, "≤ 0.7", true}, {Ratio{MaxTarget: 0.7}, 0.8, "≤ 0.7", false},
		{Ratio{}, 17, "", true},
	} {
		if got := tt.r.Met(tt.v); got != tt.want || tt.r.Goal() != tt.goal {
			t.Errorf("%+v at %v: %v, %q", tt.r, tt.v, got, tt.r.Goal())
		}
	}
}

// Percentiles of stored and merged histograms equal those of all times, to two digits.
func TestHistogramsKeepPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), 1, 300).Draw(t, "times")
		whole := histogram.New()
		parts := []*histogram.Times{histogram.New(), histogram.New(), histogram.New()}
		for i, us := range times {
			whole.Add(us, 1)
			parts[i%3].Add(us, 1)
		}
		var bars [][]histogram.Bucket
		for _, p := range parts {
			bars = append(bars, p.Bars())
		}
		again := timesOf(bars...)
		for _, p := range []float64{0, 50, 99, 99.9, 100} {
			a, b := whole.Percentile(p), again.Percentile(p)
			if math.Abs(a-b) > a*0.01+0.001 {
				t.Fatalf("percentile %v is %v, put together it is %v", p, a, b)
			}
		}
	})
	if timesOf(nil, nil) != nil {
		t.Error("a histogram out of nothing")
	}
}

// Processes of the measurement are not others; interrupt time is not counted.
func TestLoad(t *testing.T) {
	before, err := parseTicks("cpu  1000 10 500 90000 7 3 4 20 0 0\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseTicks("cpu  1300 10 600 90000 9 300 400 30 0 0\n")
	if err != nil {
		t.Fatal(err)
	}
	// 4 s of processes, 3 of them of the measurement, in 2 s.
	got := loadOf(before, after, 2, 3, 1.5)
	if diff := cmp.Diff(Load{Average: 1.5, Steal: 0.05, Others: 0.5}, got,
		cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
		t.Error(diff)
	}
	if got := loadOf(before, after, 2, 5, 1.5); got.Others != 0 {
		t.Errorf("others had %v", got.Others)
	}
	for _, text := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 x 4 5 6 7 8 9"} {
		if _, err := parseTicks(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for l, want := range map[Load]bool{{}: false, {Average: 9, Steal: 0.02, Others: 0.1}: false, {Steal: 0.03}: true,
		{Others: 0.11}: true} {
		if l.Disturbed() != want {
			t.Errorf("%+v: disturbed is %v", l, !want)
		}
	}
}

func TestTheMachineIsDescribed(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/cpuinfo":                                         "processor\t: 0\nmodel name\t: Fast 9000\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\nmodel name\t: Fast 9000\n",
		"proc/loadavg":                                         "0.50 0.25 1.75 1/200 4711\n",
		"proc/meminfo":                                         "MemTotal:        4096000 kB\nMemFree: 1 kB\n",
		"proc/sys/kernel/osrelease":                            "6.12.0\n",
		"sys/class/dmi/id/sys_vendor":                          "Cloud\n",
		"sys/class/dmi/id/product_name":                        "Engine\n",
		"proc/sys/net/ipv4/tcp_congestion_control":             "cubic\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := describe(root)
	got.System, got.Go, got.Tools = "", "", nil
	want := Machine{CPU: "Fast 9000", Cores: 2, Governor: "performance", Hypervisor: "Cloud Engine", MemoryMiB: 4000,
		Kernel: "6.12.0", Congestion: "cubic", LoadAverage: [3]float64{0.5, 0.25, 1.75}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := describe(t.TempDir()); got.Cores != 0 || got.Virtual() != "no hypervisor" {
		t.Errorf("of nothing: %+v", got)
	}
}
