package config

import (
	"os"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
)

// The operations page contains every option, as this package defines it.
func TestThePageHasTheReference(t *testing.T) {
	const page, begin, end = "../../../../docs/operations.md",
		"<!-- options: written by go test ./internal/serve/daemon/config -update -->\n", "<!-- end of options -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the reference", page)
	}
	golden.CheckFile(t, page, before+begin+"\n"+Reference()+"\n\n"+end+after)
}
