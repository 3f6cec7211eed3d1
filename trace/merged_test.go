package trace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Each flow is reported either as merged or by Flow, and the packets that were counted in a flow
// are in the totals of the flow that it was merged into.
func TestAFlowIsMergedOrEnds(t *testing.T) {
	merges := 0
	for _, path := range rxetraffic.Unpack(t) {
		counted, gone, ended := map[*trace.Flow]uint64{}, map[*trace.Flow]bool{}, map[*trace.Flow]bool{}
		a := trace.NewAnalyzer(trace.Options{
			NoMeaning: true,
			Flow:      func(f *trace.Flow) { ended[f] = true },
			Merged: func(into, from *trace.Flow) {
				merges++
				gone[from] = true
				counted[into] += counted[from]
				delete(counted, from)
			},
		})
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
			if a.Add(p); p.Flow != nil {
				counted[p.Flow]++
			}
		})
		a.Finish()
		for f, n := range counted {
			if gone[f] || !ended[f] || f.Packets != n {
				t.Errorf("%s: flow %d with %d packets: counted %d, merged %v, ended %v", filepath.Base(path), f.Number,
					f.Packets, n, gone[f], ended[f])
			}
		}
	}
	if merges == 0 {
		t.Error("no flows were merged")
	}
}
