package trace_test

import (
	"os"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// The PSNs of the gaps of a capture without reordering are the packets lost before it.
func TestAGapSaysWhichPSNsAreMissing(t *testing.T) {
	gaps, psns := 0, 0
	var flow *trace.Flow
	file, err := os.Open(rxetraffic.Unpack(t, "loss_write")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a := trace.NewAnalyzer(trace.Options{})
	readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		a.Add(p)
		for _, f := range p.Findings {
			if f.Kind != trace.Gap {
				if f.PSNs != 0 {
					t.Errorf("frame %d: %s has PSNs", p.Number, f.Kind)
				}
				continue
			}
			gaps++
			psns += f.PSNs
			flow = p.Flow
			if next := f.PSN.Add(uint32(f.PSNs)); next != p.BTH.PSN {
				t.Errorf("frame %d: %d PSNs from %d on are missing before PSN %d", p.Number, f.PSNs, f.PSN, p.BTH.PSN)
			}
		}
	})
	if gaps == 0 || uint64(psns) != flow.LostBefore {
		t.Errorf("%d gaps with %d PSNs, the flow lost %d", gaps, psns, flow.LostBefore)
	}
}
