package rdmacore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// row is the result of a test: pass, skip or fail, and the reason.
type row struct{ name, result, why string }

type table []row

// parse finds the result lines of Script in the output of the tests.
func parse(out string) (table, error) {
	last := map[string]row{} // the last result of a test is valid
	for line := range strings.Lines(out) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); f[0] == "RESULT" {
			if len(f) != 4 {
				return nil, fmt.Errorf("a result with %d fields instead of 4: %q", len(f), line)
			}
			last[f[2]] = row{f[2], f[1], f[3]}
		}
	}
	if len(last) == 0 {
		return nil, errors.New("no test ran")
	}
	return slices.SortedFunc(maps.Values(last), func(a, b row) int { return strings.Compare(a.name, b.name) }), nil
}

// text formats the table as a file: a line for each test with its name, its result and the
// reason, separated by tabs.
func (t table) text() string {
	var b strings.Builder
	for _, r := range t {
		line := strings.Join([]string{r.name, r.result, r.why}, "\t")
		b.WriteString(strings.TrimRight(line, "\t") + "\n")
	}
	return b.String()
}

// summary returns the numbers of results and the failed tests.
func (t table) summary() string {
	count := map[string]int{}
	var failed strings.Builder
	for _, r := range t {
		count[r.result]++
		if r.result == "fail" {
			fmt.Fprintf(&failed, "\n  %s: %s", r.name, r.why)
		}
	}
	return fmt.Sprintf("%d tests pass, %d are skipped, %d fail%s",
		count["pass"], count["skip"], count["fail"], failed.String())
}
