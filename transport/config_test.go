package transport

import (
	"math"
	"reflect"
	"testing"
)

func TestConfigFillsWhatIsNotSet(t *testing.T) {
	want := DefaultConfig()
	for _, c := range []Config{{}, {Window: -1, WindowBytes: -1, AckEvery: -1, BackoffLimit: -1, ProbeAfter: -1}} {
		if got := c.withDefaults(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v becomes %+v, not %+v", c, got, want)
		}
	}
	least := Config{Window: 1, MaxWindow: 1, WindowBytes: 1, MaxWindowBytes: 1, AckEvery: 1, ReadChunk: 1,
		BackoffLimit: 1, ProbeAfter: 1}
	if got := least.withDefaults(); !reflect.DeepEqual(got, least) {
		t.Errorf("%+v becomes %+v", least, got)
	}
	for _, c := range []struct{ given, want Config }{
		{Config{Window: 16}, Config{Window: 16, MaxWindow: 16}},
		{Config{Window: 16, MaxWindow: 4}, Config{Window: 16, MaxWindow: 16}},
		{Config{MaxWindow: 40}, Config{Window: 40, MaxWindow: 40}},
		{Config{MaxWindow: 4000}, Config{Window: 128, MaxWindow: 4000}},
	} {
		if got := c.given.withDefaults(); got.Window != c.want.Window || got.MaxWindow != c.want.MaxWindow {
			t.Errorf("%+v becomes %+v", c.given, got)
		}
	}
	most := Config{Window: math.MaxInt, WindowBytes: math.MaxInt, AckEvery: math.MaxInt, BackoffLimit: math.MaxInt}
	if got := most.withDefaults(); got.Window != 1<<22 || got.BackoffLimit != 4 {
		t.Errorf("%+v becomes %+v", most, got)
	}
}

func TestEveryVerdictHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{"": true, "unknown": true}
	for v := range NumVerdicts {
		if seen[v.String()] {
			t.Errorf("verdict %d is %q", v, v)
		}
		seen[v.String()] = true
	}
	if got := NumVerdicts.String(); got != "unknown" {
		t.Errorf("the one after the last is %q", got)
	}
}
