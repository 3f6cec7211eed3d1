package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFaultsAreReadAsWritten(t *testing.T) {
	for spec, want := range map[string]Config{
		"drop=1%":                            {Drop: 0.01},
		"drop=0.05, duplicate=5%":            {Drop: 0.05, Duplicate: 0.05},
		"reorder=100%,corrupt=0,ecn=1":       {Reorder: 1, ECNMark: 1},
		"delay=2ms,jitter=500us,seed=0x10":   {Delay: 2 * time.Millisecond, Jitter: 500 * time.Microsecond, Seed: 16},
		"seed=18446744073709551615,drop=.5%": {Seed: 1<<64 - 1, Drop: 0.005},
	} {
		got, err := Parse(spec)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", spec, got, err, want)
		}
	}
}

func TestFaultsThatMakeNoSenseAreRefusedByName(t *testing.T) {
	for spec, say := range map[string]string{
		"":                "no value",
		"drop":            "no value",
		"drop=":           "not a number",
		"drop=101%":       "not between",
		"drop=-1":         "not between",
		"drop=NaN":        "not between",
		"loss=1%":         "unknown fault",
		"delay=1":         "not a time",
		"delay=2h":        "not between",
		"seed=-1":         "invalid syntax",
		"drop=1%,,seed=1": "no value",
	} {
		_, err := Parse(spec)
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: error %v, want one with %q", spec, err, say)
		}
	}
}
