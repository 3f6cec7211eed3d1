package soak

import (
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Gauges are metrics by name, each the sum over its labels; a name with a reason label also stands with the reason in braces.
type Gauges map[string]float64

// readGauges reads what /metrics answers.
func readGauges(r io.Reader) (Gauges, error) {
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

// identity reports whether a label tells devices apart.
func identity(l *dto.LabelPair) bool { return l.GetName() == "device" }

// holds are the gauges of what a daemon holds for its clients.
var holds = []string{
	"gorxe_queue_pairs", "gorxe_memory_keys", "gorxe_memory_registered_bytes", "gorxe_completion_queues", "gorxe_shared_receive_queues",
	"gorxe_cm_connections", "gorxe_unacknowledged_packets", "gorxe_send_queue_requests",
}

// held is what is held.
func (g Gauges) held() map[string]float64 {
	out := map[string]float64{}
	for _, name := range holds {
		out[name] = g[name]
	}
	return out
}

// beyond names what is held and was not, when idle; nil is anything.
func (g Gauges) beyond(idle map[string]float64) string {
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

// Sample is a daemon's memory with no client.
type Sample struct {
	Resident   float64 // bytes
	Heap       float64 // bytes in use by Go's heap
	Goroutines float64
}

func sampleOf(g Gauges) Sample {
	return Sample{g["process_resident_memory_bytes"], g["go_memstats_heap_inuse_bytes"], g["go_goroutines"]}
}

// flatness is what the last samples may have more than those of the middle: 5 %, and 4 MiB for the moment of collection.
const flatness, flatSlack = 1.05, 4 << 20

// enoughSamples is how many there have to be to tell a slope from the noise.
const enoughSamples = 6

// rising says how memory grew in the later two thirds of the time; nil when it did not, or there are too few samples to tell.
func rising(samples []Sample) error {
	if len(samples) < enoughSamples {
		return nil
	}
	third := len(samples) / 3
	middle, last := samples[third:len(samples)-third], samples[len(samples)-third:]
	for _, k := range []struct {
		what  string
		of    func(Sample) float64
		slack float64
	}{
		{"resident memory", func(s Sample) float64 { return s.Resident }, flatSlack},
		{"heap", func(s Sample) float64 { return s.Heap }, flatSlack},
		{"goroutines", func(s Sample) float64 { return s.Goroutines }, 0},
	} {
		before, after := median(middle, k.of), median(last, k.of)
		if after > before*flatness+k.slack {
			return fmt.Errorf("%s rises: %.0f in the middle third, %.0f in the last", k.what, before, after)
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
