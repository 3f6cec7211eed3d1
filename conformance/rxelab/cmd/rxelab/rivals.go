package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/rival"
	"github.com/gorxe/gorxe/tools/bench"
)

// rivalFlags adds the flags of the comparison with rxe.
func rivalFlags(fs *flag.FlagSet, f *flags) {
	r := &f.rival
	fs.IntVar(&r.Rounds, "rivals", 0, "instead of the matrix: measure gorxe beside rxe in two machines, in turn; `number` of measurements of each; give one -kernel. -run chooses among contest/contender; -doc is for the report, with its chart and the measurements beside it, unless others disturbed too many")
	fs.IntVar(&r.Seconds, "seconds", 3, "of -rivals: measured `seconds` of a measurement")
	fs.IntVar(&r.Again, "again", 1,
		"of -rivals: maximum `number` of repetitions of a measurement that other programs disturbed")
	fs.StringVar(&f.links, "links", strings.Join(rival.Links(), ","),
		"of -rivals: `links` of gorxe, separated by commas")
	fs.StringVar(&r.Profiles, "profiles", "", "of -rivals: `directory` for CPU profiles of gorxe")
}

// runRivals runs the comparison with rxe instead of the matrix.
func (f *flags) runRivals(ctx context.Context, out io.Writer) error {
	r := f.rival
	switch {
	case len(f.Suites) != 1:
		return fmt.Errorf("-rivals runs on one kernel: give -kernel %s", strings.Join(cell.Suites, " or -kernel "))
	case r.Rounds < 0 || r.Seconds < 1 || r.Again < 0:
		return errors.New("-rivals wants -seconds of 1 and more, and -again of 0 and more")
	}
	r.Suite, r.Links, r.Only = f.Suites[0], strings.Split(f.links, ","), f.Filter
	if f.list {
		return listRivals(&r, out)
	}
	if r.Profiles != "" {
		if err := os.MkdirAll(r.Profiles, 0o755); err != nil {
			return err
		}
	}
	r.Progress = func(s bench.Sample, n, all int) { fmt.Fprintf(out, "[%d/%d] %s\n", n, all, s.Line()) }
	r.LeftOut = func(l bench.Left) { fmt.Fprintf(out, "left out: %s (%s): %s\n", l.Contender, l.Contest, l.Why) }
	report, err := rival.Run(ctx, f.Options.Options, r)
	if err != nil {
		return err
	}
	if err := errors.Join(report.Markdown(out, ""), report.WriteFiles(f.results, "")); err != nil {
		return err
	}
	fmt.Fprintln(out, "measurements:", f.results)
	if f.doc == "" {
		return nil
	}
	if n := report.DisturbedSamples(); n*minPerDisturbed > len(report.Samples) {
		return fmt.Errorf("%d of %d measurements were disturbed, by other programs or other guests of the hypervisor: %s is not written; it can be, with: go run ./tools/bench/cmd/bench -render %s -doc %s",
			n, len(report.Samples), f.doc, f.results, f.doc)
	}
	return report.WriteFiles(strings.TrimSuffix(f.doc, filepath.Ext(f.doc))+".json", f.doc)
}

// minPerDisturbed is the minimum number of measurements for each disturbed one: with more disturbed
// ones, the report is not written.
const minPerDisturbed = 10

func listRivals(r *rival.Options, out io.Writer) error {
	contests, err := r.Contests()
	if err != nil {
		return err
	}
	for _, c := range contests {
		for _, d := range c.Contenders {
			fmt.Fprintf(out, "%s/%s\n", c.Name, d.Name)
		}
	}
	return nil
}
