package capture

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// A capture of a simulated run contains all packets as sent, and gorxe's packets obey the rules.
// Even though links drop, delay and duplicate them later, an Analyzer must not find a packet
// missing or a rule broken.
func TestNothingIsMissingInACaptureThatHasEverything(t *testing.T) {
	never := map[trace.Kind]bool{
		trace.Gap: true, trace.Reordered: true, trace.WrongICRC: true, trace.Malformed: true,
		trace.InconsistentLength: true, trace.PSNReused: true,
	}
	again := map[trace.Kind]int{}
	seeds := uint64(500)
	if race.Enabled { // each run is one goroutine: the race detector has nothing to find
		seeds = 50
	}
	for seed := range seeds {
		var file bytes.Buffer
		if _, err := Write(&file, scenario.Generate(seed+1)); err != nil {
			t.Fatal(err)
		}
		r, err := capture.Open(&file)
		if err != nil {
			t.Fatal(err)
		}
		var d trace.Decoder
		a := trace.NewAnalyzer(trace.Options{NoMeaning: true})
		for frame, err := range r.Frames() {
			if err != nil {
				t.Fatal(err)
			}
			d.Decode(frame, func(p *trace.Packet) {
				a.Add(p)
				for _, f := range p.Findings {
					again[f.Kind]++
					if never[f.Kind] {
						t.Errorf("seed %d frame %d: %s: %s", seed+1, p.Number, f.Kind, f.Text)
					}
				}
			})
		}
		a.Finish()
	}
	for _, k := range []trace.Kind{trace.SequenceNAK, trace.AfterNAK, trace.KeptEarly, trace.AfterTimeout, trace.RNRNAK,
		trace.AfterRNR, trace.ReadAgain, trace.ErrorNAK, trace.AckCoalesced, trace.AtomicReplay} {
		if again[k] == 0 {
			t.Errorf("no run has %s", k)
		}
	}
}
