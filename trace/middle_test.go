package trace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// A capture that begins within its conversations shows less, but nothing that is wrong.
func TestACaptureThatBeginsAnywhereShowsNothingWrong(t *testing.T) {
	for _, path := range rxetraffic.Unpack(t) {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			whole := findingsFrom(t, path, 0)
			for from := 1; from < 400; from += 3 {
				for _, f := range findingsFrom(t, path, from) {
					if !slices.ContainsFunc(whole,
						func(w numbered) bool { return w.frame == f.frame && sameFinding(w.Kind, f.Kind) }) {
						t.Errorf("from frame %d on, frame %d has %s: %s", from, f.frame, f.Kind, f.Text)
					}
				}
			}
		})
	}
}

type numbered struct {
	frame int
	trace.Finding
}

// sameFinding reports whether a finding may have another kind with less context: a retransmission
// appears as new.
func sameFinding(whole, now trace.Kind) bool {
	switch whole {
	case trace.AfterNAK:
		return now == whole || now == trace.AfterTimeout || now == trace.AfterUnknown
	case trace.AfterRNR, trace.AfterTimeout, trace.ImpliedNAK:
		return now == whole || now == trace.AfterUnknown
	}
	return now == whole
}

func findingsFrom(t *testing.T, path string, from int) (out []numbered) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var flows []*trace.Flow
	a := trace.NewAnalyzer(trace.Options{Flow: func(f *trace.Flow) { flows = append(flows, f) }})
	answered := 0
	readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		if p.Number < from {
			return
		}
		a.Add(p)
		if p.Role == trace.Ack || p.Role == trace.Response {
			answered++
		}
		for _, f := range p.Findings {
			if f.Kind != trace.NeverMigReq {
				out = append(out, numbered{p.Number, f})
			}
		}
	})
	a.Finish()
	for _, f := range flows {
		if f.Ends[0].QPN == 0 && f.Messages > 0 && f.NAKs+uint64(f.RTT.Count) > 0 {
			t.Errorf("from frame %d on: %s", from,
				fmt.Sprintf("flow %d has lost one of its ends: %+v", f.Number, f.Ends))
		}
	}
	return out
}
