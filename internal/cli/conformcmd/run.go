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
	watch := absence{local: link.Local(), device: &p.device, limit: maxCases}
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
	o := report.Options{KeepAll: p.keepAll}
	r, done, checked := report.New(h, nil, o), 0, false
	runner.Done = func(x *conformance.Result) {
		defer func() { x.Packets = nil }() // those of all cases may not fit into the memory
		out.text.Result(x)
		r.Add(x, o)
		if stopped != "" {
			return
		}
		done++
		rest := done < len(order)
		if x.Verdict == conformance.Unsupported && r.Judged() == 0 && !checked {
			// The device lacks a program, or this host the one that starts programs there.
			checked = true
			if err := p.device.Check(); err != nil {
				stopped = err.Error()
				cancel()
				return
			}
		}
		if end := watch.ends(x); end || !rest && watch.cases > 0 && watch.last == "" {
			stopped = watch.explain(x, rest)
			cancel()
		}
	}
	out.text.Header(h, len(order))
	runner.Run(ctx, order)
	r.Seconds = e.now().Sub(h.Time).Seconds()
	return r, stopped
}
