package conformcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saved writes the JSON of a run of the named device, and returns its file.
func saved(t *testing.T, device string, more ...string) string {
	t.Helper()
	r := newWorld().run(t.Context(), line(append(more, "--json", "--name", device)...)...)
	name := filepath.Join(t.TempDir(), device+".json")
	must(t, os.WriteFile(name, []byte(r.stdout), 0o666))
	return name
}

func TestSavedRunsMakeAMatrix(t *testing.T) {
	a, b := saved(t, "A"), saved(t, "B", "psn/1", "rnr")
	r := newWorld().run(t.Context(), "report", a, b)
	if want := `case        A              B
psn/1       ✓ pass         ✓ pass
psn/2       ✕ fail         -
psn/3       ! warn         -
rnr/1       • observed     • observed
uc/1        – unsupported  -
cm/1        ○ not run      -
rules kept  2 of 4         2 of 2
`; r.code != 0 || r.stdout != want {
		t.Errorf("%+v", r)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	r = newWorld().run(t.Context(), "report", a, b, "--html", page, "--name", "one", "--name", "two")
	if r.code != 0 || r.stdout != "" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(page)
	must(t, err)
	has(t, string(text), "<b>one</b>", "<b>two</b>", `download="one-psn-2.pcapng"`)
}

func TestFilesThatAreNoReportsAreNamed(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	must(t, os.WriteFile(bad, []byte("{}"), 0o666))
	r := newWorld().run(t.Context(), "report", bad, bad+"x", saved(t, "A", "psn/1"))
	if r.code != 1 || strings.Count(r.stderr, "\n") != 2 {
		t.Errorf("%+v", r)
	}
	has(t, r.stderr, "gorxe: "+bad+": format 0", "bad.jsonx")
}
