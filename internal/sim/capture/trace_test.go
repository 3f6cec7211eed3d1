package capture

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// gorxe trace reads the capture of a failed run.
func TestCaptureIsReadAsATrace(t *testing.T) {
	var file bytes.Buffer
	run, err := Write(&file, scenario.Generate(3))
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.Open(&file)
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	for frame, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(frame, func(p *trace.Packet) {
			if p.Err != nil || p.ICRC.Verdict != trace.Right {
				t.Errorf("frame %d: %v, ICRC %v", p.Number, p.Err, p.ICRC.Verdict)
			}
		})
	}
	if d.Counts.Packets != run.Stats.Packets || d.Counts.Frames == 0 {
		t.Errorf("%+v, %d packets in the run", d.Counts, run.Stats.Packets)
	}
}
