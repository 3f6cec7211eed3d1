package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/tools/bench"
)

// params are the parsed command line.
type params struct {
	gorxe    string
	contests []bench.Contest
	rounds   int
	seconds  int
	again    int
	slice    time.Duration // 0: one measurement after the other
	cores    []int         // none: chosen
	perEnd   int
	profiles string
	json     string
	doc      string
	render   string
	revision string
	list     bool
}

// kinds returns the links to measure, each separately.
func kinds() []string {
	return slices.DeleteFunc(links.Kinds(), func(kind string) bool { return kind == links.Auto })
}

// parse parses the command line. Package flag also prints the errors that it finds to stderr.
func parse(args []string, stderr io.Writer) (*params, error) {
	var p params
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&p.gorxe, "gorxe", filepath.Join("bin", "gorxe"), "`file` of the gorxe to measure")
	fs.IntVar(&p.rounds, "rounds", 5, "`number` of measurements of each, 1 to 1000")
	fs.IntVar(&p.seconds, "time", 2, "measured `seconds` of a measurement, 1 to 600")
	cores := fs.String("cores", "",
		"two `cores`, for the server's and for the client's end, such as 0,1 (default: the first ones)")
	fs.IntVar(&p.perEnd, "per-end", 1, "`number` of cores of each end, 1 to 64: that of -cores and those after it")
	over := fs.String("links", strings.Join(kinds(), ","), "`links` of gorxe to measure")
	var others []bench.Build
	fs.Func("beside", "another build of gorxe to measure as well: `name=file`; may be given several times",
		func(s string) error {
			b, err := otherBuild(s)
			others = append(others, b)
			return err
		})
	only := fs.String("run", "", "only what matches the regular `expression`; -list shows what there is")
	fs.IntVar(&p.again, "again", 0,
		"maximum `number` of repetitions of a measurement that other programs disturbed, 0 to 1000")
	fs.DurationVar(&p.slice, "slice", 0, "measure both contenders of each ratio at once, or this build and "+
		"the one of -beside, in turn for a `duration` of 1ms to 1s, and each round in both orders")
	fs.StringVar(&p.profiles, "profiles", "", "`directory` for CPU profiles of both ends of gorxe perf")
	fs.StringVar(&p.json, "json", "", "`file` for all that was measured")
	fs.StringVar(&p.doc, "doc", "", "`file` for a report in Markdown; a chart is put beside it")
	fs.StringVar(&p.render, "render", "", "measure nothing: make the report of a `file` that -json wrote")
	fs.StringVar(&p.revision, "revision", "",
		"`commit` of gorxe, for the report (default: the commit that its file names, if any)")
	fs.BoolVar(&p.list, "list", false, "list what is measured, and end")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%s: flags only", fs.Arg(0))
	}
	var err error
	if p.cores, err = parseCores(*cores); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.contests, err = choose(strings.Split(*over, ","), others, *only); err != nil || p.slice == 0 {
		return &p, err
	}
	return &p, p.sliced(others)
}

// sliced keeps what can be measured in slices of time.
func (p *params) sliced(others []bench.Build) error {
	switch {
	case p.slice < time.Millisecond || p.slice > time.Second:
		return fmt.Errorf("-slice %v: must be 1ms to 1s", p.slice)
	case len(others) > 1:
		return fmt.Errorf("-slice: it takes one -beside at most, not %d", len(others))
	case p.again > 0:
		return errors.New("-slice and -again do not go together: what disturbs a pair disturbs both alike")
	}
	what := "two builds of gorxe perf"
	keep := (*bench.Contest).Pairs
	if len(others) == 0 {
		what, keep = "ratio of two that can be stopped now and then", (*bench.Contest).InTurn
	}
	for i := range p.contests {
		keep(&p.contests[i])
	}
	p.contests = slices.DeleteFunc(p.contests, func(c bench.Contest) bool { return len(c.Ratios) == 0 })
	if len(p.contests) == 0 {
		return fmt.Errorf("-slice: -run leaves no %s; -list shows what there is", what)
	}
	return nil
}

// otherBuild parses name=file.
func otherBuild(s string) (bench.Build, error) {
	name, file, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return bench.Build{}, errors.New("want name=file")
	}
	full, err := regularFile(file)
	return bench.Build{Name: name, File: full}, err
}

// regularFile returns the absolute name of an existing regular file.
func regularFile(name string) (string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if i, err := os.Stat(full); err != nil || !i.Mode().IsRegular() {
		return "", fmt.Errorf("there is no file %s", name)
	}
	return full, nil
}

// findGorxe makes the name of gorxe's file absolute.
func (p *params) findGorxe() error {
	full, err := regularFile(p.gorxe)
	if err != nil {
		return fmt.Errorf("-gorxe: %w; make build makes bin/gorxe", err)
	}
	p.gorxe = full
	return nil
}

// parseCores parses the cores of the server's and of the client's end.
func parseCores(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var out []int
	for c := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(c)
		if err != nil {
			return nil, fmt.Errorf("-cores: %q is not a number", c)
		}
		out = append(out, n)
	}
	if len(out) != 2 {
		return nil, fmt.Errorf("-cores %s: name two, such as 0,1", s)
	}
	return out, nil
}

func (p *params) check() error {
	for _, r := range []struct {
		name             string
		v, least, atMost int
	}{
		{"-rounds", p.rounds, 1, 1000}, {"-time", p.seconds, 1, 600}, {"-again", p.again, 0, 1000},
		{"-per-end", p.perEnd, 1, 64},
	} {
		if r.v < r.least || r.v > r.atMost {
			return fmt.Errorf("%s %d: must be %d to %d", r.name, r.v, r.least, r.atMost)
		}
	}
	if p.render != "" && p.json != "" {
		return errors.New("-render and -json do not go together: nothing is measured")
	}
	return nil
}

// choose returns the contests over the given links, with the contenders that match the
// expression.
func choose(over []string, others []bench.Build, expression string) ([]bench.Contest, error) {
	only, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	var ls []bench.Link
	for _, l := range over {
		if !slices.Contains(kinds(), l) {
			return nil, fmt.Errorf("-links %s: there is %s", l, strings.Join(kinds(), ", "))
		}
		ls = append(ls, bench.Link{Name: l, Args: []string{"--link", l}})
	}
	out := bench.Contests(ls, others...)
	for i := range out {
		out[i].Only(func(contest, contender string) bool { return only.MatchString(contest + "/" + contender) })
	}
	out = slices.DeleteFunc(out, func(c bench.Contest) bool { return len(c.Contenders) == 0 })
	if len(out) == 0 {
		return nil, fmt.Errorf("-run %s: nothing matches; -list shows what there is", expression)
	}
	return out, nil
}
