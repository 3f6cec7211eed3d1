package bench

import (
	"slices"
	"testing"
	"time"
)

func TestPairsAreOfTwoBuildsOfGorxePerf(t *testing.T) {
	c := Contest{Name: "x", Metric: Bandwidth,
		Contenders: []Contender{
			{Name: "gorxe", Tool: "perf"}, {Name: "before", Tool: "perf", Build: "/b"}, {Name: "alone", Tool: "perf"},
			{Name: "rival", Tool: "iperf3"}, {Name: "program", Tool: "run"},
			{Name: "program before", Tool: "run", Build: "/b"}},
		Ratios: []Ratio{
			{Of: "gorxe", To: "rival"}, {Of: "gorxe", To: "before"}, {Of: "gorxe"}, {Of: "gorxe", To: "alone"},
			{Of: "program", To: "program before"},
		},
	}
	c.Pairs()
	if err := c.Valid(); err != nil {
		t.Error(err)
	}
	if want := []Ratio{{Of: "gorxe", To: "before"}}; !slices.Equal(c.Ratios, want) {
		t.Errorf("ratios %+v, want %+v", c.Ratios, want)
	}
	if len(c.Contenders) != 2 || c.Contenders[0].Name != "gorxe" || c.Contenders[1].Name != "before" {
		t.Errorf("contenders %+v", c.Contenders)
	}
}

func TestRatiosInTurnAreOfContendersThatCanBeStopped(t *testing.T) {
	names := func(r Ratio) string { return r.Of + " : " + r.To }
	var got []string
	for _, c := range Contests([]Link{{Name: "udp"}}) {
		if c.InTurn(); c.Valid() != nil {
			t.Error(c.Valid())
		}
		for _, r := range c.Ratios {
			got = append(got, names(r))
			if r.To == "" || r.Tail || r.Difference || c.Metric == StartUp {
				t.Errorf("%s: %+v", c.Name, r)
			}
		}
		for _, d := range c.Contenders {
			if d.Tool == "qperf" {
				t.Errorf("%s takes part", d.Name)
			}
		}
	}
	for _, want := range []Ratio{
		{Of: "gorxe udp: WRITE", To: floorBytes}, {Of: "gorxe udp: SEND, polling", To: floorPolls},
		{Of: "gorxe udp: 1 QP", To: rivalPackets}, {Of: "gorxe udp: READ", To: "gorxe udp: WRITE"},
	} {
		if !slices.Contains(got, names(want)) {
			t.Errorf("%s is not among %q", names(want), got)
		}
	}
}

func TestARateIsOfAContendersOwnTime(t *testing.T) {
	const s1 = time.Second
	for name, tt := range map[string]struct {
		share sideTimes
		took  float64
		cpu   [2]float64
	}{
		"processor time without slices": {sideTimes{took: 4 * s1, used: [3]time.Duration{s1, 2 * s1}}, 2,
			[2]float64{0.5, 1}},
		"an end that is always busy": {sideTimes{took: 4 * s1, turn: 2 * s1, used: [3]time.Duration{s1, 2 * s1}}, 2,
			[2]float64{0.5, 1}},
		"ends that sleep": {sideTimes{took: 4 * s1, turn: 2 * s1, used: [3]time.Duration{s1 / 2, s1}}, 2,
			[2]float64{0.25, 0.5}},
		"an end that waits for others": {
			sideTimes{took: 8 * s1, turn: 4 * s1, used: [3]time.Duration{s1, 2 * s1},
				waited: [3]time.Duration{3 * s1, 2 * s1}},
			2, [2]float64{0.5, 1},
		},
		"threads that wait for one another": {
			sideTimes{took: 4 * s1, turn: 2 * s1, used: [3]time.Duration{s1, 2 * s1},
				waited: [3]time.Duration{0, s1}}, 2,
			[2]float64{0.5, 1},
		},
		"a daemon for both": {sideTimes{took: 4 * s1, used: [3]time.Duration{s1, s1, 2 * s1}}, 2, [2]float64{0.5, 0.5}},
	} {
		s := Sample{Measured: Measured{Value: 10}}
		s.perOwnSecond(Bandwidth, tt.share)
		if want := 10 * tt.share.took.Seconds() / tt.took; s.Value != want || s.Took != tt.took || s.CPU != tt.cpu {
			t.Errorf("%s: %+v, want %v", name, s, want)
		}
	}
	h := sideTimes{took: 4 * s1, used: [3]time.Duration{s1, 2 * s1}}
	s := Sample{Measured: Measured{Value: 10}}
	if s.perOwnSecond(Latency, h); s.Value != 10 {
		t.Errorf("a latency of 10 µs became %v", s.Value)
	}
	s = Sample{Measured: Measured{Value: 10, Median: 7}}
	if s.perOwnSecond(Latency, h); s.Value != 7 {
		t.Errorf("a median of 7 µs became %v", s.Value)
	}
	s = Sample{Err: "it did not start"}
	if s.perOwnSecond(Bandwidth, sideTimes{}); s.Value != 0 {
		t.Errorf("%+v", s)
	}
}
