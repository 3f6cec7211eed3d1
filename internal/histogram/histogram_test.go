package histogram

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestATimeOutsideOfTheRangeCountsAtItsEnd(t *testing.T) {
	h := New()
	h.Add(-5, 1)
	h.Add(1e12, 1)
	if lo, hi := h.Percentile(0), h.Percentile(100); lo != 0.001 || math.Abs(hi-60e6) > 1e6 {
		t.Errorf("from %v to %v µs", lo, hi)
	}
}

func TestBarsAreInAscendingOrderAndNotEmpty(t *testing.T) {
	h := New()
	h.Add(8, 2)
	h.Add(0.05, 1)
	h.Add(8, 1)
	if diff := cmp.Diff([]Bucket{{0.05, 1}, {8.031, 3}}, h.Bars()); diff != "" {
		t.Error(diff)
	}
}

func TestABarIsAPairInJSON(t *testing.T) {
	text, err := json.Marshal([]Bucket{{8.5, 3}})
	if err != nil || string(text) != "[[8.5,3]]" {
		t.Fatalf("%s, %v", text, err)
	}
	var got []Bucket
	if err := json.Unmarshal(text, &got); err != nil || !cmp.Equal(got, []Bucket{{8.5, 3}}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{`["a",1]`, `[1,1.5]`, `{}`} {
		if err := new(Bucket).UnmarshalJSON([]byte(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestDurationsAreTimesInNanoseconds(t *testing.T) {
	h := New()
	h.AddDuration(-time.Second)
	h.AddDuration(100 * time.Nanosecond)
	h.AddDuration(time.Hour)
	if got := h.DurationAt(50); got != 100 {
		t.Errorf("the median is %v", got)
	}
	if lo, hi := h.DurationAt(0), h.DurationAt(100); lo != 1 || hi < time.Minute || hi > time.Minute+time.Second {
		t.Errorf("from %v to %v", lo, hi)
	}
}
