package leaks

import (
	"strings"
	"testing"
)

const someMetrics = `# TYPE go_goroutines gauge
go_goroutines 21
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 2e+07
# TYPE gorxe_queue_pairs gauge
gorxe_queue_pairs{device="g0",state="RTS",type="RC"} 2
gorxe_queue_pairs{device="g0",state="ERR",type="RC"} 1
# TYPE gorxe_responder_ended_total counter
gorxe_responder_ended_total{reason="slow"} 4
`

func TestGaugesAddUpLabels(t *testing.T) {
	g, err := Read(strings.NewReader(someMetrics))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"gorxe_queue_pairs": 3, "gorxe_queue_pairs{RTS}": 2, "gorxe_responder_ended_total{slow}": 4,
		"gorxe_queue_pairs{g0}": 0,
	} {
		if g[name] != want {
			t.Errorf("%s is %v, want %v", name, g[name], want)
		}
	}
	if s := g.Sample(); s.Goroutines != 21 || s.Resident != 2e7 {
		t.Errorf("sample %+v", s)
	}
	if _, err := Read(strings.NewReader("no metrics {")); err == nil {
		t.Error("nonsense is read as metrics")
	}
}

func TestADaemonHoldsWhatItHeldBefore(t *testing.T) {
	idle := Gauges{"gorxe_memory_keys": 2}.Held()
	if rest := (Gauges{"gorxe_memory_keys": 2, "go_goroutines": 9}).Beyond(idle); rest != "" {
		t.Errorf("it holds %s", rest)
	}
	rest := Gauges{"gorxe_memory_keys": 2, "gorxe_queue_pairs": 1}.Beyond(idle)
	if rest != "gorxe_queue_pairs 1 instead of 0" {
		t.Errorf("it holds %q", rest)
	}
}

func TestMemoryThatRises(t *testing.T) {
	series := func(of func(i int) Sample) (all []Sample) {
		for i := range 12 {
			all = append(all, of(i))
		}
		return all
	}
	for name, c := range map[string]struct {
		samples []Sample
		want    string
	}{
		"flat after a beginning": {series(func(i int) Sample {
			return Sample{Resident: float64(min(i, 3)) * 1e8}
		}), ""},
		"noise": {series(func(i int) Sample { return Sample{Heap: float64(i%2) * 4e6} }), ""},
		"a leak of resident memory": {series(func(i int) Sample { return Sample{Resident: float64(i) * 1e7} }),
			"resident memory: the median rises"},
		"a leak of heap": {series(func(i int) Sample { return Sample{Heap: float64(i) * 1e7} }),
			"heap: the median rises"},
		"a leak of goroutines": {series(func(i int) Sample { return Sample{Goroutines: float64(20 + i)} }),
			"goroutines: the median rises"},
		"a leak of threads": {series(func(i int) Sample { return Sample{Threads: float64(20 + 2*i)} }),
			"threads: the median rises"},
		"a leak of descriptors": {series(func(i int) Sample { return Sample{Descriptors: float64(20 + i)} }),
			"descriptors: the median rises"},
		"too few to tell": {series(func(i int) Sample { return Sample{Heap: float64(i) * 1e7} })[:5], ""},
	} {
		err := Rising(c.samples)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
