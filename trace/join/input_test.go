package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// fileOf returns a capture with the given frames.
func fileOf(t testing.TB, name string, all []capture.Frame) Input {
	t.Helper()
	var b bytes.Buffer
	w := pcapng.NewWriter(&b, pcapng.Options{})
	for i := range all {
		if err := w.Frame(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return bytesOf(name, b.Bytes())
}

func bytesOf(name string, b []byte) Input {
	return Input{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }}
}

func traffic() *world {
	w := newWorld()
	w.connect(0x11, 0x22, 100, 2000, 30000)
	w.run()
	return w
}

func TestDetectTellsFromThePacketsHowCapturesRelate(t *testing.T) {
	w := traffic()
	a, b := w.frames[0], w.frames[1]
	skewed := newWorld()
	skewed.clocks[1].offset = -3 * time.Hour
	skewed.connect(0x11, 0x22, 100, 2000, 30000)
	skewed.run()
	other := newWorld()
	other.clocks[0].offset = time.Millisecond
	other.connect(0x44, 0x55, 7000, 2000, 30000)
	other.run()
	long := newWorld()
	long.wait = 1e10
	long.connect(0x11, 0x22, 100, 3000, 2_000_000)
	long.run()
	for _, tt := range []struct {
		name        string
		a, b        []capture.Frame
		same, after bool
		offset      time.Duration
	}{
		{"both ends", a, b, true, true, 3700 * time.Millisecond},
		{"both ends, the other order", b, a, true, true, -3700 * time.Millisecond},
		{"clocks hours apart", skewed.frames[0], skewed.frames[1], true, false, -3 * time.Hour},
		{"rotated", a[:1000], a[1000:], false, false, 0},
		{"rotated, the other order", a[1000:], a[:1000], false, false, 0},
		{"rotated with one frame", a[:1000], a[1000:1001], false, false, 0},
		{"other traffic at the same time", a, other.frames[0], false, true, 0},
		{"one begins later", long.frames[0], long.frames[1][3000:], true, true, 3700 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Detect(t.Context(), fileOf(t, "a", tt.a), fileOf(t, "b", tt.b))
			if err != nil || r.Same != tt.same || (r.Offset-tt.offset).Abs() > 500*time.Microsecond {
				t.Errorf("%+v, %v", r, err)
			}
			if tt.same && r.Shared < 1000 {
				t.Errorf("%+v", r)
			}
		})
	}
	empty := fileOf(t, "empty.pcapng", nil)
	if _, err := Detect(t.Context(), empty, fileOf(t, "b", b)); err == nil || err.Error() != "empty.pcapng: no frames" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Detect(ctx, fileOf(t, "a", a), fileOf(t, "b", b)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// all reads the frames of s as "number time".
func all(s trace.Source) (out []string, err error) {
	var f capture.Frame
	for {
		if err := s.Next(&f); err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%d %d %d", f.Number, f.Time.UnixNano(), len(f.Data)))
	}
}

func TestFilesAreReadInOrderOfTime(t *testing.T) {
	w := traffic()
	a := w.frames[0]
	var even, odd []capture.Frame
	for i, f := range a {
		if i%2 == 0 {
			even = append(even, f)
		} else {
			odd = append(odd, f)
		}
	}
	whole, err := all(&frames{a})
	if err != io.EOF {
		t.Fatal(err)
	}
	var many []Input
	for i := 0; i < len(a); i += 10 {
		many = append(many, fileOf(t, fmt.Sprint(i), a[i:min(i+10, len(a))]))
	}
	slices.Reverse(many)
	for _, tt := range []struct {
		name   string
		in     []Input
		ranges []Range
		n      int
		all    bool
	}{
		{"rotated", []Input{fileOf(t, "1", a[:700]), fileOf(t, "2", a[700:])},
			[]Range{{"1", 1, 700, 1}, {"2", 701, len(a), 1}}, 2, true},
		{"the other order", []Input{fileOf(t, "2", a[700:]), fileOf(t, "1", a[:700])},
			[]Range{{"1", 1, 700, 1}, {"2", 701, len(a), 1}}, 2, true},
		{"with an empty one", []Input{fileOf(t, "1", a[:700]), fileOf(t, "none", nil), fileOf(t, "2", a[700:])},
			[]Range{{"1", 1, 700, 1}, {"2", 701, len(a), 1}}, 2, true},
		{"interleaved", []Input{fileOf(t, "odd", odd), fileOf(t, "even", even)},
			[]Range{{"even", 1, 1, 1}, {"odd", 2, 2, 1}, {"even", 3, 3, 2}}, maxRanges, false},
		{"hundreds", many, []Range{{"0", 1, 10, 1}, {"10", 11, 20, 1}}, len(many), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewFiles(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := all(s)
			if err != io.EOF || !slices.Equal(got, whole) {
				t.Errorf("%d frames, %v", len(got), err)
			}
			r, complete := s.Ranges()
			if len(r) != tt.n || complete != tt.all || !slices.Equal(r[:len(tt.ranges)], tt.ranges) {
				t.Errorf("%d ranges, %v: %+v", len(r), complete, r[:min(len(r), 5)])
			}
			if len(s.open) != 0 || s.Close() != nil {
				t.Errorf("%d captures are open", len(s.open))
			}
		})
	}
}

func TestADamagedFileDoesNotHideTheOthers(t *testing.T) {
	w := traffic()
	a := w.frames[0]
	whole := fileOf(t, "whole.pcapng", a[:100])
	r, _ := whole.Open()
	b, _ := io.ReadAll(r)
	s, err := NewFiles([]Input{bytesOf("cut.pcapng", b[:len(b)-7]), fileOf(t, "next.pcapng", a[100:150])})
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(s)
	if len(got) != 149 || err == nil || !strings.Contains(err.Error(), "cut.pcapng: capture: frame 100, at byte") {
		t.Errorf("%d frames, %v", len(got), err)
	}
	if _, err := NewFiles([]Input{bytesOf("text", []byte("hello world"))}); err == nil ||
		!strings.Contains(err.Error(), "text: capture: unknown format") {
		t.Error(err)
	}
	var many []Input
	for i := range maxOpen + 1 {
		many = append(many, fileOf(t, fmt.Sprint(i), a))
	}
	if s, err = NewFiles(many); err != nil {
		t.Fatal(err)
	}
	if _, err = all(s); err == nil || !strings.Contains(err.Error(), "more than 32 captures overlap in time") {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
