// Package conform runs gorxe conform against Linux rxe in virtual machines and against gorxe on
// this host, and makes the published matrix of them.
package conform

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
)

// Options configure what is tested.
type Options struct {
	Columns []Column
	Cases   []string // cases and chapters; nil: all
	Runs    int      // number of runs of each column
	Say     func(text string)

	version string // of gorxe, for reports
}

func (o *Options) say(format string, args ...any) { o.Say(fmt.Sprintf(format, args...)) }

// Column is a device of the matrix.
type Column struct {
	Name  string
	Suite string // of rxe: the kernel, by Debian release; "": gorxe
	Link  string // of gorxe
}

// Columns are the devices of the published matrix.
var Columns = []Column{
	{Name: "rxe 6.1", Suite: "bookworm"},
	{Name: "rxe 6.12", Suite: "trixie"},
	{Name: "gorxe udp", Link: "udp"},
	{Name: "gorxe raw", Link: "raw"},
	{Name: "gorxe xdp", Link: "xdp"},
}

// Key returns a name for a file, such as rxe-6.12.
func (c Column) Key() string { return strings.ReplaceAll(c.Name, " ", "-") }

// Select returns the columns with the keys.
func Select(keys []string) (chosen []Column, err error) {
	var all []string
	for _, c := range Columns {
		all = append(all, c.Key())
	}
next:
	for _, k := range keys {
		for _, c := range Columns {
			if c.Key() == k {
				chosen = append(chosen, c)
				continue next
			}
		}
		return nil, fmt.Errorf("column %q: there is %s", k, strings.Join(all, ", "))
	}
	return chosen, nil
}

// Result is a column with its runs.
type Result struct {
	Column
	Reports []*report.Report
	Left    string // why the column was not run
}

// Run tests the columns one after the other. m configures the virtual machines; its Group and Lanes
// are ignored.
func Run(ctx context.Context, m machine.Options, o Options) ([]Result, error) {
	work, err := os.MkdirTemp("", "rxelab-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := o.prepare(ctx, &m, work); err != nil {
		return nil, err
	}
	o.version = "gorxe " + host.GorxeVersion(ctx, m.Gorxe)
	var results []Result
	for _, c := range o.Columns {
		x := Result{Column: c}
		test := o.testGorxe
		if c.Suite != "" {
			test = o.testRxe
		}
		x.Reports, err = test(ctx, &m, c, cmp.Or(o.Runs, 1))
		var left *leftError
		if errors.As(err, &left) {
			x.Left, err = left.why, nil
			o.say("%s is left out: %s", c.Name, x.Left)
		}
		results = append(results, x)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// prepare prepares machines, or for gorxe only its program.
func (o *Options) prepare(ctx context.Context, m *machine.Options, work string) error {
	m.Group, m.Lanes = cell.Core, 0
	if slices.ContainsFunc(o.Columns, func(c Column) bool { return c.Suite != "" }) {
		return m.Prepare(ctx, work)
	}
	if err := os.MkdirAll(m.Artifacts, 0o755); err != nil || m.Gorxe != "" {
		return err
	}
	m.Step("building gorxe")
	m.Gorxe = filepath.Join(work, "gorxe")
	return host.Build(ctx, host.GorxePackage, m.Gorxe)
}

// leftError is the error of a column that this host cannot run.
type leftError struct{ why string }

func (e *leftError) Error() string { return e.why }

// arguments returns the arguments of gorxe for a column.
func (o *Options) arguments(c Column, device, local, link, start, gid string) []string {
	return append(append([]string{"conform", device}, o.Cases...), "--local", local, "--link", link,
		"--dut-start", start, "--dut-gid", gid, "--name", c.Name, "--json", "--keep-all")
}

// summary describes a report in a line.
func summary(r *report.Report) string {
	line := fmt.Sprintf("%s: %d cases in %.0f s", r.Device, len(r.Cases), r.Seconds)
	for v := range conformance.Verdicts {
		if n := r.Count(v); n > 0 {
			line += fmt.Sprintf(", %d %v", n, v)
		}
	}
	return line
}

// read runs the tester and reads its report. The report and the log of run n are among the
// artifacts.
func (o *Options) read(m *machine.Options, c Column, n int,
	run func(out, log io.Writer) error) (*report.Report, error) {
	name := filepath.Join(m.Artifacts, fmt.Sprintf("%s-%d", c.Key(), n+1))
	file, err := os.Create(name + ".log")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out bytes.Buffer
	var log transcript.Buffer
	failure := run(&out, io.MultiWriter(file, &log))
	r, err := report.Read(&out)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gorxe conform: %w: %s", err, transcript.LastLines(log.String())), failure)
	}
	r.Gorxe = o.version
	Trim(r)
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		return nil, err
	}
	return r, os.WriteFile(name+".json", b.Bytes(), 0o644)
}

// Trim removes the packets of cases that need no evidence.
func Trim(r *report.Report) {
	for i := range r.Cases {
		if x := &r.Cases[i]; !deviates(x.Verdict) || x.Verdict == conformance.Unsupported {
			x.Packets, x.Pcapng, x.Omitted, x.Output = nil, nil, 0, ""
		}
	}
}
