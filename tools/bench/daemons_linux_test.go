package bench

import (
	"strings"
	"testing"
)

// If a daemon does not serve, the error contains what it did instead, and it is ended.
func TestDaemonsEnd(t *testing.T) {
	g := needGround(t)
	for _, tt := range []struct{ script, start, end string }{
		{"echo bad luck >&2; exit 4", "exit status 4: bad luck", "exit status 4: bad luck"},
		{"exit 0", "ended before it was ready", ""},
	} {
		var ds daemons
		err := ds.start(t.Context(), g.shared, []string{"sh", "-c", tt.script}, g.dir, bothEnds)
		if err == nil || !strings.Contains(err.Error(), tt.start) {
			t.Errorf("%s: %v, want %q", tt.script, err, tt.start)
		}
		if err := ds.end(); (err == nil) != (tt.end == "") || err != nil && !strings.Contains(err.Error(), tt.end) {
			t.Errorf("%s ends: %v, want %q", tt.script, err, tt.end)
		}
	}
}
