package tracecmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/sim/capture"
	"github.com/gorxe/gorxe/internal/sim/scenario"
)

// Every view of 'gorxe trace' reads the capture that the simulator writes after a failed run.
func TestTraceReadsWhatTheSimulatorLeaves(t *testing.T) {
	for seed := range uint64(20) {
		path := filepath.Join(t.TempDir(), "sim.pcapng")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		run, err := capture.Write(f, scenario.Generate(seed))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		packets := told(t, path)
		n := uint64(0)
		for line := range strings.Lines(packets) {
			if !strings.HasPrefix(line, "         ") { // a finding
				n++
			}
		}
		if n != run.Stats.Packets || n == 0 {
			t.Errorf("seed %d: %d lines, %d packets in the run:\n%s", seed, n, run.Stats.Packets, packets)
		}
		for _, kind := range []string{"malformed", "icrc_wrong", "misnumbered", "pad_or_length"} {
			if r := newWorld().Run(t.Context(), "trace --filter finding=="+kind+" "+path); r.Code != 0 ||
				r.Stdout.Len() > 0 {
				t.Errorf("seed %d: %v", seed, r)
			}
		}
		for _, view := range []string{"--messages", "--flows", "--explain", "-v"} {
			if text := told(t, view+" "+path); text == "" {
				t.Errorf("seed %d: %s shows nothing", seed, view)
			}
		}
	}
}
