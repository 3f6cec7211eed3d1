// Package leaks reads the metrics of a gorxe daemon and reports what the daemon still holds for
// clients that have gone, and whether its memory grows. [Read] returns [Gauges]; a series of
// [Sample] values gives a [Trend] for each resource.
package leaks

import (
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Gauges are metrics by name, each the sum over its labels. A metric with a reason label is also
// stored as name{reason}.
type Gauges map[string]float64

// Read parses the response to a GET of /metrics.
func Read(r io.Reader) (Gauges, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	g := Gauges{}
	for name, f := range families {
		for _, m := range f.Metric {
			v := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
			g[name] += v
			for _, l := range m.Label {
				if v != 0 && !identity(l) {
					g[name+"{"+l.GetValue()+"}"] += v
				}
			}
		}
	}
	return g, nil
}

// identity reports whether a label identifies a device.
func identity(l *dto.LabelPair) bool { return l.GetName() == "device" }

// holds are the gauges of what a daemon holds for its clients.
var holds = []string{
	"gorxe_queue_pairs", "gorxe_memory_keys", "gorxe_memory_registered_bytes",
	"gorxe_completion_queues", "gorxe_shared_receive_queues",
	"gorxe_cm_connections", "gorxe_unacknowledged_packets", "gorxe_send_queue_requests",
}

// Held returns what the daemon holds for its clients.
func (g Gauges) Held() map[string]float64 {
	out := map[string]float64{}
	for _, name := range holds {
		out[name] = g[name]
	}
	return out
}

// Beyond describes the gauges of Held that differ from those of an idle daemon, "" if none does.
// A nil idle matches everything.
func (g Gauges) Beyond(idle map[string]float64) string {
	if idle == nil {
		return ""
	}
	var rest []string
	for _, name := range holds {
		if g[name] != idle[name] {
			rest = append(rest, fmt.Sprintf("%s %v instead of %v", name, g[name], idle[name]))
		}
	}
	return strings.Join(rest, ", ")
}

// A Sample is the resource use of a daemon's process while it has no clients.
type Sample struct {
	Resident    float64 // in bytes
	Heap        float64 // bytes in use by the Go heap
	Goroutines  float64
	Threads     float64
	Descriptors float64
}

// Sample returns the resource use of the process.
func (g Gauges) Sample() Sample {
	return Sample{
		Resident: g["process_resident_memory_bytes"], Heap: g["go_memstats_heap_inuse_bytes"],
		Goroutines: g["go_goroutines"], Threads: g["go_threads"], Descriptors: g["process_open_fds"],
	}
}

// flatness is the factor by which the median of the last samples may exceed that of the middle
// ones.
const flatness = 1.05

// enoughSamples is the minimum number of samples for a trend.
const enoughSamples = 6

// resources are the resources that must not grow. slack is the permitted excess of the last
// samples besides flatness: 4 MiB for memory that is not collected yet, a few threads because Go
// keeps threads that were blocked in a system call.
var resources = []struct {
	name  string
	of    func(Sample) float64
	slack float64
}{
	{"resident memory", func(s Sample) float64 { return s.Resident }, 4 << 20},
	{"heap", func(s Sample) float64 { return s.Heap }, 4 << 20},
	{"goroutines", func(s Sample) float64 { return s.Goroutines }, 0},
	{"threads", func(s Sample) float64 { return s.Threads }, 4},
	{"descriptors", func(s Sample) float64 { return s.Descriptors }, 0},
}

// A Trend compares the median of a resource in the middle third of the samples with that in the
// last third.
type Trend struct {
	Name         string
	Middle, Last float64
	Rises        bool
}

// Trends returns the trend of each resource, or none if there are fewer than enoughSamples.
func Trends(samples []Sample) (out []Trend) {
	if len(samples) < enoughSamples {
		return nil
	}
	third := len(samples) / 3
	middle, last := samples[third:len(samples)-third], samples[len(samples)-third:]
	for _, r := range resources {
		t := Trend{Name: r.name, Middle: median(middle, r.of), Last: median(last, r.of)}
		t.Rises = t.Last > t.Middle*flatness+r.slack
		out = append(out, t)
	}
	return out
}

// Rising returns an error for the first resource that grows over the last two thirds of the
// samples.
func Rising(samples []Sample) error {
	for _, t := range Trends(samples) {
		if t.Rises {
			return fmt.Errorf("%s: the median rises from %.0f in the middle third to %.0f in the last", t.Name,
				t.Middle, t.Last)
		}
	}
	return nil
}

func median(samples []Sample, of func(Sample) float64) float64 {
	v := make([]float64, len(samples))
	for i, s := range samples {
		v[i] = of(s)
	}
	slices.Sort(v)
	return v[len(v)/2]
}
