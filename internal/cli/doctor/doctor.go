// Package doctor implements 'gorxe doctor': it examines what this host allows gorxe to do and
// suggests changes. [Examine] returns the [Finding] list that the command prints.
package doctor

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// Command makes the command 'gorxe doctor'.
func Command(a *app.App) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this host lets gorxe do, and say what to change",
		Long: `Checks the kernel, rdma-core, the network interfaces and UDP port 4791, and prints a
line for each: ok, warn (works with a limitation) or fail. The next line says what to
change. Nothing is sent, no port is bound and nothing is changed.

The exit status is 1 if there is a line with fail.`,
		Example: `  gorxe doctor
  gorxe doctor --json`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := Examine(c.Context(), a)
			if asJSON {
				enc := json.NewEncoder(a.Stdout)
				enc.SetIndent("", "  ")
				if err := enc.Encode(findings); err != nil {
					return err
				}
			} else {
				printFindings(a.Stdout, app.NewStyle(a.Stdout), findings)
			}
			for _, f := range findings {
				if f.State == Fail {
					return &app.StatusError{Code: app.ExitFailure}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return c
}

// State is the result of a check.
type State string

// The states of a finding.
const (
	OK   State = "ok"
	Warn State = "warn" // works with a limitation
	Fail State = "fail" // does not work
)

// Finding is the result of one check.
type Finding struct {
	Subject string `json:"subject"`
	State   State  `json:"state"`
	Text    string `json:"text"`             // what was found
	Advice  string `json:"advice,omitempty"` // what to change; "" if nothing
}

// printFindings prints a line for each finding, and below it a line with the advice.
func printFindings(w io.Writer, s app.Style, findings []Finding) {
	colour := map[State]func(string) string{OK: s.Green, Warn: s.Yellow, Fail: s.Red}
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Subject))
	}
	for _, f := range findings {
		state := fmt.Sprintf("%-4s", string(f.State))
		fmt.Fprintf(w, "%s  %-*s  %s\n", colour[f.State](state), width, f.Subject, f.Text)
		if f.Advice != "" {
			fmt.Fprintf(w, "      %-*s  -> %s\n", width, "", f.Advice)
		}
	}
}
