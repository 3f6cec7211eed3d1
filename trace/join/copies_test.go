package join

import (
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/capture"
)

// twice returns each frame as seen at both interfaces.
func twice(all []capture.Frame, interfaces [2]int) (out []capture.Frame) {
	for _, f := range all {
		for _, n := range interfaces {
			f.InterfaceID, f.Number = n, len(out)+1
			out = append(out, f)
		}
	}
	return out
}

// The report of captures that have each packet twice is that of captures that have each once.
func TestCopiesOfPacketsInOneCaptureAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		rule       string
		interfaces [2]int
		dedupe     bool
	}{
		{"two interfaces", [2]int{1, 2}, false},
		{"merged", [2]int{0, 0}, true},
	} {
		for doubled := 1; doubled < 4; doubled++ {
			w := lossy()
			w.run()
			in := w.frames
			for s := range in {
				if doubled>>s&1 != 0 {
					in[s] = twice(in[s], tt.interfaces)
				} else {
					in[s] = slices.Clone(in[s])
					for i := range in[s] {
						in[s][i].Number = i + 1
					}
				}
			}
			r, err := Join(t.Context(), &frames{in[0]}, &frames{in[1]}, Options{Offset: 3700 * time.Millisecond,
				Dedupe: tt.dedupe})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := told(w, r), w.expected(); !slices.Equal(got, want) {
				t.Errorf("%s, %b doubled: %q, want %q", tt.rule, doubled, got, want)
			}
			for s := range in {
				want := uint64(doubled>>s&1) * uint64(len(w.frames[s]))
				if n := r.Captures[s].Copies; n != want {
					t.Errorf("%s, %b doubled: %d copies in capture %c, want %d", tt.rule, doubled, n, 'A'+s, want)
				}
			}
		}
	}
}
