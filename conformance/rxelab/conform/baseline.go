package conform

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/report"
)

// baseline returns the path of the baseline of a column: all kinds of link of gorxe have the same.
func (c Column) baseline(dir string) string {
	name := c.Key()
	if c.Suite == "" {
		name = "gorxe"
	}
	return filepath.Join(dir, name+".txt")
}

// Differences returns the verdicts of all runs that differ from the baselines in a folder. A column
// without a baseline has no differences.
func (x *Result) Differences(dir string) (lines []string, err error) {
	name := x.baseline(dir)
	b, err := readBaseline(name)
	if err != nil || b == nil {
		return nil, err
	}
	for n, r := range x.Reports {
		for _, l := range b.Differences(r) {
			lines = append(lines, fmt.Sprintf("%s, run %d: %s", x.Name, n+1, l))
		}
	}
	return lines, nil
}

// WriteBaseline writes the baseline of the first run. It keeps the reasons of an existing one.
func (x *Result) WriteBaseline(dir string) error {
	if len(x.Reports) == 0 {
		return nil
	}
	name := x.baseline(dir)
	old, err := readBaseline(name)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := report.WriteBaseline(f, x.Reports[0], old); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// readBaseline reads a baseline, nil if there is none.
func readBaseline(name string) (*report.Baseline, error) {
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := cases.All()
	b, err := report.ReadBaseline(f, func(id string) bool {
		return slices.ContainsFunc(all, func(c *conformance.Case) bool { return c.ID == id })
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}
