package trace_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// captures lies beside the repository where the project's shared files are at hand; it is not part of the repository.
const captures = "../../shared/captures"

func captureFiles(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(captures); errors.Is(err, os.ErrNotExist) {
		t.Skipf("the captures are not here: no directory %s", captures)
	}
	files, err := filepath.Glob(filepath.Join(captures, "*.pcap"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in %s: %v", captures, err)
	}
	return files
}

// readAll shows every packet of a capture and returns what was counted.
func readAll(t testing.TB, r io.Reader, show func(*capture.Frame, *trace.Packet)) trace.Counts {
	t.Helper()
	c, err := capture.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	for f, err := range c.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(p *trace.Packet) { show(f, p) })
	}
	return d.Counts
}

func TestEveryPacketOfTheCapturesIsRight(t *testing.T) {
	for _, path := range captureFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			c := readAll(t, file, func(f *capture.Frame, p *trace.Packet) {
				if p.Err != nil || p.ICRC.Verdict != trace.Right || p.Doubt {
					t.Errorf("frame %d: %v, ICRC %v, doubt %v", f.Number, p.Err, p.ICRC, p.Doubt)
				}
			})
			if c.Packets == 0 || c.Packets != c.Frames-c.Skipped[trace.SkipOther]-c.Skipped[trace.SkipNotIP] {
				t.Errorf("%+v", c)
			}
		})
	}
}
