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
			{Name: "rival", Tool: "iperf3"}, {Name: "program", Tool: "run"}, {Name: "program before", Tool: "run", Build: "/b"}},
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

func TestARateIsOfASecondOfTheBusierEnd(t *testing.T) {
	used := [2]time.Duration{time.Second, 2 * time.Second}
	s := Sample{Measured: Measured{Value: 10}}
	s.perBusySecond(Bandwidth, used, 4)
	if s.Value != 20 || s.Took != 2 || s.CPU != [2]float64{0.5, 1} {
		t.Errorf("%+v", s)
	}
	s = Sample{Measured: Measured{Value: 10}}
	if s.perBusySecond(Latency, used, 4); s.Value != 10 {
		t.Errorf("a latency of 10 µs became %v", s.Value)
	}
	s = Sample{Err: "it did not start"}
	if s.perBusySecond(Bandwidth, [2]time.Duration{}, 4); s.Value != 0 {
		t.Errorf("%+v", s)
	}
}
