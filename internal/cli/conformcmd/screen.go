package conformcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/internal/cli/app"
)

// screen is where a run prints: standard output, or standard error if JSON goes to the former.
type screen struct {
	w     io.Writer
	style app.Style
	text  report.Text
}

func newScreen(a *app.App, json bool) *screen {
	s := &screen{w: a.Stdout}
	if json {
		s.w = a.Stderr
	}
	s.style = app.NewStyle(s.w)
	s.text = report.Text{W: s.w, Paint: s.paint, Dim: s.style.Dim}
	return s
}

// paint colours a text that stands for a verdict.
func (s *screen) paint(v conformance.Verdict, text string) string {
	switch v {
	case conformance.Pass:
		return s.style.Green(text)
	case conformance.Fail:
		return s.style.Red(text)
	case conformance.Warn, conformance.Inconclusive:
		return s.style.Yellow(text)
	case conformance.Unclear, conformance.Measured:
		return s.style.Cyan(text)
	}
	return s.style.Dim(text)
}

// asker returns a function that tells the user which program to start. Each case needs a new one,
// so it prints a loop, once for each program.
func (s *screen) asker(wait time.Duration) func(string) {
	last := ""
	return func(command string) {
		if command == last {
			return
		}
		if last != "" {
			fmt.Fprintf(s.w, "\n%s\n", s.style.Bold("End the loop on the device: the next cases need another program."))
		}
		last = command
		fmt.Fprintf(s.w, "\n%s\n  while true; do %s; sleep 0.1; done\n", s.style.Bold(
			fmt.Sprintf("Start this on the device within %v. It runs until the next message:", wait)), command)
	}
}
