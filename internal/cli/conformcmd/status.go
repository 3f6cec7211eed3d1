package conformcmd

import (
	"fmt"
	"os"
	"slices"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/internal/cli/app"
)

// exitUnsupported is the exit code if the device supports none of the cases, as in
// quic-interop-runner.
const exitUnsupported = 127

// status returns the error that stands for the exit code.
func (p *params) status(a *app.App, r *report.Report, base *report.Baseline) error {
	fails, warns := r.Count(conformance.Fail), r.Count(conformance.Warn)
	switch {
	case base != nil:
		lines := base.Differences(r)
		for _, l := range lines {
			fmt.Fprintln(a.Stderr, l)
		}
		if len(lines) == 0 {
			return nil
		}
		return fmt.Errorf("%s not as %s expects", verdicts(len(lines)), p.baseline)
	case fails > 0, warns > 0 && p.strict:
		return &app.StatusError{Code: app.ExitFailure}
	case r.Judged() > 0:
		return nil
	case r.Count(conformance.Inconclusive) > 0:
		return fmt.Errorf("no case was conclusive")
	}
	text := "the device supports none of the selected cases, or the tester could not run them"
	if n := len(r.Cases); n > 0 {
		text += "; the last reason: " + r.Cases[n-1].Detail
	}
	fmt.Fprintln(a.Stderr, "gorxe: "+text)
	return &app.StatusError{Code: exitUnsupported}
}

func verdicts(n int) string {
	if n == 1 {
		return "1 verdict is"
	}
	return fmt.Sprintf("%d verdicts are", n)
}

// baselines reads the file of --baseline, and that of --write-baseline if it exists. Each is nil
// without its flag.
func (p *params) baselines(all []*conformance.Case) (base, old *report.Baseline, err error) {
	if p.baseline != "" {
		if base, err = readBaseline(p.baseline, all); err != nil {
			return nil, nil, fmt.Errorf("--baseline: %w", err)
		}
	}
	if _, err := os.Stat(p.newBaseline); p.newBaseline != "" && err == nil {
		if old, err = readBaseline(p.newBaseline, all); err != nil {
			return nil, nil, fmt.Errorf("--write-baseline does not replace a file that is no baseline: %w", err)
		}
	}
	return base, old, nil
}

func readBaseline(name string, all []*conformance.Case) (*report.Baseline, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := report.ReadBaseline(f, func(id string) bool {
		return slices.ContainsFunc(all, func(c *conformance.Case) bool { return c.ID == id })
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func writeBaseline(name string, r *report.Report, old *report.Baseline) error {
	f, err := os.Create(name)
	if err == nil {
		err = report.WriteBaseline(f, r, old)
		if closing := f.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		return fmt.Errorf("--write-baseline: %w", err)
	}
	return nil
}
