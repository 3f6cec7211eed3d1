package trace_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

func TestWhatTheCaptureItselfLeftOutIsNoFinding(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	if _, err := os.Stat(captures); err == nil {
		files = append(files, captureFiles(t)...)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			whole := findingsFrom(t, path, 0)
			step := 3
			if race.Enabled { // nothing to find in one goroutine
				step = 41
			}
			for from := 1; from < 400; from += step {
				for _, n := range []int{1, 2, 7, 40} {
					for _, f := range findingsWithout(t, path, from, n) {
						if !slices.ContainsFunc(whole, func(w numbered) bool { return w.frame == f.frame && sameFinding(w.Kind, f.Kind) }) {
							t.Errorf("without %d frames from %d on, frame %d has %s: %s", n, from, f.frame, f.Kind, f.Text)
						}
					}
				}
			}
		})
	}
}

// findingsWithout are those of a capture that lacks n frames from one on, and says so.
func findingsWithout(t *testing.T, path string, from, n int) (out []numbered) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a := trace.NewAnalyzer(trace.Options{})
	lacks := false
	readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		if p.Number >= from && p.Number < from+n {
			lacks = true
			return
		}
		if lacks && p.Number >= from+n {
			lacks = false
			p.Comments = append(p.Comments, trace.MissingNote(uint64(n)))
		}
		a.Add(p)
		for _, f := range p.Findings {
			if f.Kind != trace.NeverMigReq {
				out = append(out, numbered{p.Number, f})
			}
		}
	})
	a.Finish()
	return out
}

func TestTheCommentOnMissingPackets(t *testing.T) {
	for comment, want := range map[string]uint64{
		trace.MissingNote(1): 1, trace.MissingNote(18446744073709551615): 18446744073709551615, "": 0, "-1" + trace.MissingNote(2)[1:]: 0, "work request: 1": 0,
	} {
		if got := trace.Missing(comment); got != want {
			t.Errorf("%q: %d, want %d", comment, got, want)
		}
	}
}
