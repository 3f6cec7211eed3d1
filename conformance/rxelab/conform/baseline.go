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

// Unexpected returns the IDs of the cases of the first run whose verdicts differ from the baseline
// in a folder, none without a baseline.
func (x *Result) Unexpected(dir string) (ids []string, err error) {
	b, err := readBaseline(x.baseline(dir))
	if err != nil || b == nil || len(x.Reports) == 0 {
		return nil, err
	}
	for i := range x.Reports[0].Cases {
		c := &x.Reports[0].Cases[i]
		if _, ok := b.Expects(c); !ok {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// Replace puts the cases of r, another run of the column, in the place of those of the first run.
func (x *Result) Replace(r *report.Report) {
	first := x.Reports[0]
	for _, c := range r.Cases {
		i := slices.IndexFunc(first.Cases, func(old report.Case) bool { return old.ID == c.ID })
		if i >= 0 {
			first.Cases[i] = c
		}
	}
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
