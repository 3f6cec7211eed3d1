package join

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/capture"
)

// atThirdPoint returns the frames at a third capture point, which those from y pass 10 µs before B,
// and the others 10 µs after B.
func atThirdPoint(all []capture.Frame) (out []capture.Frame) {
	for _, f := range all {
		d := 10 * time.Microsecond
		if f.Data[15]&1 == 0 { // from y
			d = -d
		}
		f.Time = f.Time.Add(d)
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(x, y capture.Frame) int { return x.Time.Compare(y.Time) })
	return out
}

func TestLossesOfAChainAreAtTheirPlaces(t *testing.T) {
	w := lossy()
	w.run()
	two, err := Join(t.Context(), &frames{w.frames[0]}, &frames{w.frames[1]}, Options{Offset: 3700 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var want, back Counts
	for _, d := range two.Directions {
		if d.First == "A" {
			want.add(&d.Counts)
		} else {
			back.add(&d.Counts)
		}
	}
	in := []Input{fileOf(t, "host", w.frames[0]), fileOf(t, "switch", w.frames[1]),
		fileOf(t, "other", atThirdPoint(w.frames[1]))}
	relations := []Relation{{Offset: 3700 * time.Millisecond}, {}}
	c, err := JoinChain(t.Context(), in, relations, Options{})
	if err != nil {
		t.Fatal(err)
	}
	forth, opposite := c.Ways()
	if l := want.Lost; !slices.Equal(forth.Lost, []uint64{l[Before], l[Between], 0, l[Behind]}) || l[Between] != 1 {
		t.Errorf("%v, two captures: %+v", forth, want)
	}
	if l := back.Lost; !slices.Equal(opposite.Lost, []uint64{l[Before], 0, l[Between], l[Behind]}) || l[Between] != 1 {
		t.Errorf("opposite: %v, two captures: %+v", opposite, back)
	}
	var text, lines strings.Builder
	if err := c.WriteText(&text); err != nil ||
		!strings.HasPrefix(text.String(), "path       host → switch → other\n") ||
		!strings.Contains(text.String(), "path       other → switch → host\n") ||
		strings.Count(text.String(), "\nsegment ") != 2 {
		t.Errorf("%v\n%.2000s", err, text.String())
	}
	if err := c.WriteJSON(&lines); err != nil || strings.Count(lines.String(), `{"type":"segment"`) != 2 ||
		strings.Count(lines.String(), `{"type":"path"`) != 2 {
		t.Errorf("%v\n%.2000s", err, lines.String())
	}
	in[0], in[1] = in[1], in[0]
	relations[0].Offset = -relations[0].Offset
	relations[1].Offset = 3700 * time.Millisecond
	if _, err := JoinChain(t.Context(), in, relations, Options{}); err == nil ||
		!strings.Contains(err.Error(), "not in the order of the path") {
		t.Errorf("another order: %v", err)
	}
	if _, err := JoinChain(t.Context(), in[:1], nil, Options{}); err == nil {
		t.Error("one capture is joined")
	}
}
