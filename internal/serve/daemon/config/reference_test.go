package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the reference in docs/operations.md")

// The page for those who run the daemon has every option, as this package knows it.
func TestThePageHasTheReference(t *testing.T) {
	const page, begin, end = "../../../../docs/operations.md", "<!-- options: written by go test ./internal/serve/daemon/config -update -->\n", "<!-- end of options -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the reference", page)
	}
	want := "\n" + Reference() + "\n\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, old); diff != "" {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", page, diff)
	}
}
