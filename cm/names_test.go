package cm_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/cm"
)

// The first and the last of a kind have names, and a value beyond the last has none.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{cm.StateREQSent, "REQ_SENT"},
		{cm.StateSIDRREPSent, "SIDR_REP_SENT"},
		{cm.StateSIDRREPSent + 1, "state 10"},
		{cm.State(255), "state 255"},
		{cm.Requested, "REQUESTED"},
		{cm.Resolved, "RESOLVED"},
		{cm.Resolved + 1, "event 8"},
		{cm.EventKind(255), "event 255"},
		{cm.VerdictTaken, "taken"},
		{cm.VerdictHalfOpen, "half_open"},
		{cm.Verdict(cm.NumVerdicts), "unknown"},
		{cm.Verdict(255), "unknown"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%#v is called %q, want %q", tt.v, got, tt.want)
		}
	}
}
