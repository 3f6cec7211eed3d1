package tracecmd

import (
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/why"
)

// checkWhy rejects flags that have no effect on the answer to --why, and a line that says nothing.
func (p *params) checkWhy() error {
	if p.why == "" {
		return nil
	}
	for _, f := range []struct {
		set  bool
		name string
	}{
		{p.filter != "", "--filter"}, {p.explain && p.html == "", "--explain"}, {p.verbose, "-v"}, {p.hex, "--hex"},
		{p.payload, "--payload"}, {p.messages, "--messages"}, {p.flows, "--flows"},
		{p.pcapng == "-", "--pcapng -"}, {p.many.join, "--join"},
		{p.stats.kind() != "", p.stats.kind()}, {p.stats.csv, "--csv"},
		{p.shown.format == formatFields, "-T fields"},
	} {
		if f.set {
			return app.Usagef("--why answers from the whole capture: omit %s", f.name)
		}
	}
	if _, err := why.Parse(p.why); err != nil {
		return app.Usagef("--why: %v", err)
	}
	return nil
}

// openWhy opens the answer to --why, text or JSON, which is written at the end.
func openWhy(a *app.App, p *params, _ *files) ([]trace.Output, finish, error) {
	c, err := why.Parse(p.why)
	if err != nil {
		return nil, nil, err
	}
	collector := why.NewCollector(c)
	return []trace.Output{collector}, func() error {
		if p.json {
			return json.NewWriter(a.Stdout).Object(json.Why(collector.Answer()))
		}
		return collector.Answer().WriteText(a.Stdout)
	}, nil
}
