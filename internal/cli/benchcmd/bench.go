// Package benchcmd is 'gorxe bench': measurements beside other programs.
package benchcmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/tools/bench"
	"github.com/spf13/cobra"
)

// params are those of a run of measurements.
type params struct {
	rounds  int
	seconds int
	cores   []int
	links   []string
	beside  map[string]string
	only    string
	json    string
	doc     string
	render  string
	list    bool
	again   int
	profile string
	commit  string
}

// Command makes the command 'gorxe bench'.
func Command(a *app.App) *cobra.Command {
	var p params
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure gorxe beside its rivals, in turn, on this machine",
		Long: `Measures gorxe beside what one would otherwise use, on one path and in one run: bandwidth beside
iperf3 and bare UDP, latency beside qperf, message rate, many queue pairs, goodput under loss. It
makes two network namespaces and a veth pair of its own, binds each end to one core, and takes
turns: every round measures everybody once, in another order. What counts are medians and ratios.

It needs root and Linux. iperf3 and qperf are left out if they are not installed.`,
		Example: `  gorxe bench                                    all of it, some six minutes
  gorxe bench --run 'bandwidth|latency' --rounds 3
  gorxe bench --run bandwidth --beside before=/tmp/gorxe
  gorxe bench --json r.json --doc docs/performance.md
  gorxe bench --render r.json --doc p.md         make the report again of what was measured`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), a, &p) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.IntVar(&p.rounds, "rounds", 5, "`number` of measurements of each, 1 to 1000")
	fs.IntVar(&p.seconds, "time", 2, "`seconds` that count of a measurement, 1 to 600")
	fs.IntSliceVar(&p.cores, "cores", nil, "two `cores`, for the server's and for the client's end (default: the first two)")
	fs.StringSliceVar(&p.links, "links", Links(), "`links` of gorxe to measure")
	fs.StringToStringVar(&p.beside, "beside", nil, "other builds of gorxe to measure as well: `name=file`")
	fs.StringVar(&p.only, "run", "", "only what matches the regular `expression`; --list shows what there is")
	fs.IntVar(&p.again, "again", 0, "measure up to so many `times` again what other programs disturbed")
	fs.StringVar(&p.profile, "profiles", "", "`directory` for CPU profiles of both ends of gorxe perf")
	fs.StringVar(&p.json, "json", "", "`file` for all that was measured")
	fs.StringVar(&p.doc, "doc", "", "`file` for a report in Markdown; a chart is put beside it")
	fs.StringVar(&p.render, "render", "", "measure nothing: make the report of a `file` that --json wrote")
	fs.StringVar(&p.commit, "revision", "", "`commit` of gorxe, for the report (default: that which the program was built from, if it knows)")
	fs.BoolVar(&p.list, "list", false, "list what is measured, and end")
	c.AddCommand(blastCommand(a))
	return c
}

// Links are the links to measure, each by itself.
func Links() []string {
	return slices.DeleteFunc(links.Kinds(), func(kind string) bool { return kind == links.Auto })
}

func (p *params) check() error {
	err := app.CheckRanges(app.InRange("--rounds", p.rounds, 1, 1000), app.InRange("--time", p.seconds, 1, 600), app.InRange("--again", p.again, 0, 1000))
	if err != nil {
		return err
	}
	switch {
	case len(p.cores) != 0 && len(p.cores) != 2:
		return app.Usagef("--cores %v: name two, such as 0,1", p.cores)
	case len(p.links) == 0:
		return app.Usagef("--links: name one at least")
	case p.render != "" && p.json != "":
		return app.Usagef("--render and --json do not go together: nothing is measured")
	}
	return nil
}

// contests returns those that --run chooses, and of each who takes part.
func (p *params) contests() ([]bench.Contest, error) {
	only, err := regexp.Compile(p.only)
	if err != nil {
		return nil, app.Usagef("--run: %v", err)
	}
	var links []bench.Link
	for _, l := range p.links {
		if !slices.Contains(Links(), l) {
			return nil, app.Usagef("--links %s: there is %s", l, strings.Join(Links(), ", "))
		}
		links = append(links, bench.Link{Name: l, Args: []string{"--link", l}})
	}
	var others []bench.Build
	for _, name := range slices.Sorted(maps.Keys(p.beside)) {
		file, err := filepath.Abs(p.beside[name])
		if err != nil {
			return nil, err
		}
		if i, err := os.Stat(file); err != nil || !i.Mode().IsRegular() {
			return nil, app.Usagef("--beside %s: there is no file %s", name, p.beside[name])
		}
		others = append(others, bench.Build{Name: name, File: file})
	}
	out := bench.Contests(links, others...)
	for i := range out {
		out[i].Only(func(contest, contender string) bool { return only.MatchString(contest + "/" + contender) })
	}
	out = slices.DeleteFunc(out, func(c bench.Contest) bool { return len(c.Contenders) == 0 })
	if len(out) == 0 {
		return nil, app.Usagef("--run %s: nothing matches; --list shows what there is", p.only)
	}
	return out, nil
}

func run(ctx context.Context, a *app.App, p *params) error {
	if err := p.check(); err != nil {
		return err
	}
	if p.render != "" {
		f, err := os.Open(p.render)
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := bench.ReadReport(f)
		if err != nil {
			return fmt.Errorf("%s: %w", p.render, err)
		}
		return report(a, r, p)
	}
	contests, err := p.contests()
	if err != nil {
		return err
	}
	if p.list {
		for _, c := range contests {
			fmt.Fprintf(a.Stdout, "%s, in %s\n", c.Title, c.Metric)
			for _, d := range c.Contenders {
				fmt.Fprintf(a.Stdout, "  %s/%s\n", c.Name, d.Name)
			}
		}
		return nil
	}
	if p.profile != "" {
		if err := os.MkdirAll(p.profile, 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where this program is, to run it at both ends: %w", err)
	}
	r, err := bench.Run(ctx, bench.Options{
		Gorxe: self, Contests: contests, Rounds: p.rounds, Seconds: p.seconds, Cores: p.cores, Again: p.again, Profiles: p.profile,
		Progress: func(s bench.Sample, n, all int) { fmt.Fprintf(a.Stderr, "[%d/%d] %s\n", n, all, s.Line()) },
		LeftOut: func(l bench.Left) {
			fmt.Fprintf(a.Stderr, "left out: %s (%s): %s\n", l.Contender, l.Contest, l.Why)
		},
	})
	if err != nil {
		return err
	}
	r.Machine.Revision = cmp.Or(p.commit, r.Machine.Revision)
	return report(a, r, p)
}

// report prints the report, or writes it into the files that were named.
func report(a *app.App, r *bench.Report, p *params) error {
	if err := r.WriteFiles(p.json, p.doc); err != nil || p.doc != "" {
		return err
	}
	return r.Markdown(a.Stdout, "")
}
