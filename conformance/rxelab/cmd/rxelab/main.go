// Command rxelab runs the matrix of gorxe against Linux rdma_rxe and writes the report (make
// interop). As root it installs the programs that it needs; once they are installed it needs no
// root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/conform"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/rival"
	"github.com/gorxe/gorxe/conformance/rxelab/soak"
)

func main() {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case conform.TesterCommand:
			os.Exit(conform.RunTester(os.Args[2]))
		case conform.StarterCommand:
			os.Exit(conform.RunStarter(os.Args[2], os.Args[3:]))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errCells):
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "rxelab:", err)
	os.Exit(2)
}

// errCells reports that the lab ran and that cells failed.
var errCells = errors.New("cells failed")

type flags struct {
	rxelab.Options
	soak                 soak.Options
	rival                rival.Options
	suites, filter       string
	group, level         string
	doc, results, render string
	opcodes, links       string
	rdmaCoreTests        string
	conform, cases       string
	conformDoc           string
	conformCaptures      string
	conformRender        string
	baselines            string
	writeBaselines       bool
	conformRuns          int
	list                 bool
}

func parse(args []string) (*flags, error) {
	f := &flags{}
	fs := flag.NewFlagSet("rxelab", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "Boots stock Debian kernels with rdma_rxe in QEMU and runs their tools against gorxe.\n\nUsage: rxelab [flags]\n\n")
		fs.PrintDefaults()
		fmt.Fprint(fs.Output(), "\nExit status: 0 every cell passed, 1 a cell failed, 2 the lab could not run.\n")
	}
	fs.StringVar(&f.group, "group", string(cell.Core),
		"`part` of the matrix by what it is about: core (SEND, WRITE and READ over RC), verbs (the other services), cm (rdma_cm), daemon (clients of gorxe daemon), links (as core, with links raw and xdp) or programs (unmodified programs under gorxe run)")
	fs.StringVar(&f.level, "level", string(cell.LevelCI), "`part` of the matrix: ci (minutes) or full (every cell)")
	fs.StringVar(&f.suites, "kernel", strings.Join(cell.Suites, ","),
		"`kernels` by Debian release, separated by commas")
	fs.StringVar(&f.filter, "run", "", "only cells whose name matches the regular `expression`")
	fs.BoolVar(&f.list, "list", false, "print the names of the cells and run nothing")
	fs.StringVar(&f.Gorxe, "gorxe", "", "`program` to test (default: built from this module)")
	fs.StringVar(&f.Cache, "cache", "", "`directory` for kernels (default: gorxe-rxelab in the user's cache directory)")
	fs.StringVar(&f.Artifacts, "artifacts", "",
		"`directory` for logs and captures of failed cells (default: a new one in the temporary directory)")
	fs.StringVar(&f.doc, "doc", "", "`file` for the report in Markdown (default for -level full without -run: docs/interop.md, or that of the group)")
	fs.StringVar(&f.results, "results", "",
		"`file` for the results as JSON (default: results.json among the artifacts)")
	fs.StringVar(&f.render, "render", "", "run nothing; write the report from result `files`, separated by commas")
	fs.StringVar(&f.opcodes, "opcodes", "", "with -render: write to `file` as JSON which opcodes were exchanged, and no report; the results may be of several groups")
	fs.IntVar(&f.Lanes, "lanes", 3, "`number` of cells to run at a time")
	fs.IntVar(&f.CPUs, "cpus", 2, "`number` of processors of the virtual machine")
	fs.IntVar(&f.MTU, "mtu", 9000, "MTU of the link in `bytes`")
	fs.IntVar(&f.CaptureLimit, "packets", 10000, "`number` of frames to capture and check in a cell")
	fs.IntVar(&f.Retries, "retries", 0,
		"`number` of times that a failed cell, or a case of -conform whose verdict is not that of -baselines, is run again")
	fs.BoolVar(&f.KeepAll, "keep", false, "keep the logs and captures of cells that passed, too")
	fs.StringVar(&f.rdmaCoreTests, "rdma-core-tests", "",
		"instead of the matrix: run rdma-core's own tests on rxe by run.py of the `directory`; the results go there")
	soakFlags(fs, &f.soak)
	rivalFlags(fs, f)
	conformFlags(fs, f)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see rxelab -help", fs.Arg(0))
	}
	for name, v := range map[string]int{"lanes": f.Lanes, "cpus": f.CPUs, "packets": f.CaptureLimit} {
		if v < 1 || v > 100000 {
			return nil, fmt.Errorf("-%s %d: want 1 to 100000", name, v)
		}
	}
	if f.opcodes != "" && f.render == "" {
		return nil, errors.New("-opcodes needs result files: give them with -render")
	}
	f.Group, f.Level, f.Suites = cell.Group(f.group), cell.Level(f.level), strings.Split(f.suites, ",")
	var err error
	if f.filter != "" {
		if f.Filter, err = regexp.Compile(f.filter); err != nil {
			return nil, fmt.Errorf("-run: %w", err)
		}
	}
	whole := f.Level == cell.LevelFull && f.Filter == nil && len(f.Suites) == len(cell.Suites)
	if f.doc == "" && (whole || f.render != "") {
		f.doc = filepath.FromSlash(f.Group.Page())
	}
	return f, nil
}

func run(ctx context.Context, args []string, out *os.File) error {
	f, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case f.opcodes != "":
		return writeOpcodes(f.opcodes, strings.Split(f.render, ","))
	case f.render != "":
		r, err := report.Load(strings.Split(f.render, ",")...)
		if err != nil {
			return err
		}
		return f.finish(r, out)
	case f.conformRender != "":
		return f.renderConform(out)
	case f.list && f.rival.Rounds > 0:
		return f.runRivals(ctx, out)
	case f.list:
		return list(f, out)
	}
	if err := f.directories(); err != nil {
		return err
	}
	p := &rxelab.Printer{W: out, Terminal: terminal(out)}
	f.Options.Progress, f.Options.Step = p, p.Step
	switch {
	case f.soak.Traffic > 0:
		return f.runSoak(ctx, out)
	case f.rival.Rounds > 0:
		return f.runRivals(ctx, out)
	case f.conform != "":
		return f.runConform(ctx, out)
	case f.rdmaCoreTests != "":
		return f.runRDMACore(ctx, out)
	}
	r, err := rxelab.Run(ctx, f.Options)
	if r == nil {
		return err
	}
	if serr := r.Save(f.results); serr != nil {
		return errors.Join(err, serr)
	}
	if err != nil {
		return errors.Join(err, r.Table(out))
	}
	return f.finish(r, out)
}

// directories sets the defaults of the directories.
func (f *flags) directories() error {
	if f.Cache == "" {
		c, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("%w; give a directory for kernels with -cache", err)
		}
		f.Cache = filepath.Join(c, "gorxe-rxelab")
	}
	if f.Artifacts == "" {
		f.Artifacts = filepath.Join(os.TempDir(), "rxelab-"+time.Now().Format("20060102-150405"))
	}
	if f.results == "" {
		f.results = filepath.Join(f.Artifacts, "results.json")
	}
	return nil
}

// finish prints and writes the report. It returns errCells if a cell failed.
func (f *flags) finish(r *report.Report, out io.Writer) error {
	if err := r.Table(out); err != nil {
		return err
	}
	if f.doc != "" {
		if err := write(f.doc, r); err != nil {
			return err
		}
		fmt.Fprintln(out, "report:", f.doc)
	}
	failed := r.Failed()
	if len(failed) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nfailed:")
	for _, c := range failed {
		fmt.Fprintf(out, "  %s\n    %s\n", c.ID, strings.Join(c.Failures, "\n    "))
	}
	if f.Artifacts != "" {
		fmt.Fprintln(out, "logs and captures:", f.Artifacts)
	}
	return errCells
}

func write(name string, r *report.Report) error {
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

func writeOpcodes(name string, files []string) error {
	var reports []*report.Report
	for _, f := range files {
		r, err := report.Load(f)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	b, err := report.Opcodes(reports...)
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

func list(f *flags, out io.Writer) error {
	cells, err := cell.Matrix(f.Group, f.Level, f.Suites)
	if err != nil {
		return err
	}
	for _, c := range cells {
		if f.Filter == nil || f.Filter.MatchString(c.ID()) {
			fmt.Fprintln(out, c.ID())
		}
	}
	return nil
}

func terminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
