package trace_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// readAll shows every packet of a capture and returns the counts.
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
	for _, path := range rxetraffic.Unpack(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			c := readAll(t, file, func(f *capture.Frame, p *trace.Packet) {
				if p.Err != nil || p.ICRC.Verdict != trace.Right || p.Doubtful {
					t.Errorf("frame %d: %v, ICRC %v, doubt %v", f.Number, p.Err, p.ICRC, p.Doubtful)
				}
			})
			if c.Packets == 0 || c.Packets != c.Frames-c.Skipped[trace.SkipOther]-c.Skipped[trace.SkipNotIP] {
				t.Errorf("%+v", c)
			}
		})
	}
}
