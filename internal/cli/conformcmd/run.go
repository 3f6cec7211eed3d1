package conformcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/internal/cli/app"
)

// run tests the device and writes the reports.
func (p *params) run(ctx context.Context, a *app.App, e *env) error {
	base, old, err := p.baselines(e.cases)
	if err != nil {
		return err
	}
	if err := p.resolve(ctx); err != nil {
		return err
	}
	link, err := p.open(e)
	if err != nil {
		return err
	}
	defer link.Close()
	if err := p.files.create(report.JUnit{Strict: p.strict, Baseline: base}); err != nil {
		return err
	}
	defer p.files.close()
	if p.captures != "" {
		if err := os.MkdirAll(p.captures, 0o777); err != nil {
			return fmt.Errorf("--pcapng: %w", err)
		}
	}
	out := newScreen(a, p.json)
	r, stopped := p.test(ctx, e, link, out)
	errs := []error{p.writeCaptures(r), p.files.write(r)}
	out.text.Failures(r, p.captureName)
	out.text.Values(r)
	out.text.Summary(r)
	if p.json {
		errs = append(errs, r.WriteJSON(a.Stdout))
	}
	switch {
	case ctx.Err() != nil:
		errs = append(errs, ctx.Err())
	case stopped != "":
		errs = append(errs, errors.New(stopped))
	default:
		if p.newBaseline != "" {
			errs = append(errs, writeBaseline(p.newBaseline, r, old))
		}
		errs = append(errs, p.status(a, r, base))
	}
	return first(errs)
}

// first returns the first error.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// test runs the cases. stopped is the reason if the rest was not run.
func (p *params) test(ctx context.Context, e *env, link wire.Link, out *screen) (r *report.Report, stopped string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := report.Header{Device: cmp.Or(p.name, p.host), Address: p.device.Addr, Local: link.Local(), Link: "udp",
		Time: e.now(), Gorxe: app.BuildVersion()}
	if link.Raw() {
		h.Link = "raw"
	}
	runner := conformance.Runner{Link: link, Timeout: p.timeout, Silence: p.silence, Limit: caseLimit}
	order := p.selected
	watch := absence{limit: maxCases}
	if p.device.Start != "" {
		p.device.StartTime = p.wait
		runner.Limit = max(p.wait+caseLimit-defaultWait[false], caseLimit)
	} else {
		runner.Limit = max(p.wait, caseLimit) // for the user and the case
		watch.limit = 1
		p.device.Ask = out.asker(runner.Limit)
		// The user starts each program only once.
		order = slices.Clone(order)
		slices.SortStableFunc(order, func(x, y *conformance.Case) int { return int(x.Program) - int(y.Program) })
	}
	runner.Device = e.device(&p.device)
	if c, ok := runner.Device.(io.Closer); ok {
		defer c.Close()
	}
	r = report.New(h, nil, report.Options{})
	runner.Done = func(x *conformance.Result) {
		out.text.Result(x)
		r.Add(x, report.Options{KeepAll: p.keepAll})
		if stopped == "" && watch.absent(x) {
			which := ""
			if watch.present {
				which = "the last "
			}
			stopped = fmt.Sprintf("no packet came from the device in %s%s: the rest was not run. The last reason: %s",
				which, app.Plural(watch.cases, "case"), x.Detail)
			cancel()
		}
		x.Packets = nil // the packets of all cases may not fit into the memory
	}
	out.text.Header(h, len(order))
	runner.Run(ctx, order)
	r.Seconds = e.now().Sub(h.Time).Seconds()
	return r, stopped
}

// absence detects a device that is absent: none of the first cases got a packet, or none of many
// cases in a row, after which the device is lost.
type absence struct {
	limit    int // number of cases without a packet after which the device is absent
	cases    int // without a packet, in a row
	programs map[conformance.Program]bool
	present  bool // a case has got a packet
}

// A device is absent if it sent nothing in minCases cases with two programs, or in maxCases cases.
// A user who starts no program is not asked a second time. A device that was present is lost if it
// sent nothing in lostCases cases with lostPrograms programs: the programs that connect to the
// tester, which a firewall may prevent, are fewer.
const (
	minCases     = 3
	maxCases     = 6
	lostCases    = 20
	lostPrograms = 5
)

// absent adds a result and reports whether the device is absent or lost.
func (a *absence) absent(x *conformance.Result) bool {
	switch {
	case x.Verdict == conformance.NotRun || x.Verdict == conformance.Unsupported:
		return false
	case x.Verdict != conformance.Inconclusive,
		slices.ContainsFunc(x.Packets, func(e conformance.Entry) bool { return !e.Sent }):
		a.present, a.cases, a.programs = true, 0, nil
		return false
	}
	if a.programs == nil {
		a.programs = map[conformance.Program]bool{}
	}
	a.programs[x.Case.Program] = true
	a.cases++
	if a.present {
		return a.cases >= lostCases && len(a.programs) >= lostPrograms
	}
	return a.cases >= a.limit || a.cases >= minCases && len(a.programs) > 1
}
