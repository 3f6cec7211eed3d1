package conformcmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/self"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// selfCommand makes the command 'gorxe conform self'.
func selfCommand(a *app.App) *cobra.Command {
	o := self.Options{}
	c := &cobra.Command{
		Use:   "self [CASE|CHAPTER|MUTANT]...",
		Short: "Test the tester against endpoints that break rules on purpose",
		Long: `Test the conformance tester itself, in memory and without privileges.

Every case runs against an endpoint of gorxe that breaks no rule, and must pass. Then the endpoint
gets one fault at a time, a mutant, which breaks one rule: the cases of this rule must fail, and no
case of an unrelated chapter may fail. Arguments select cases, chapters and mutants.

The exit status is 1 if a case fails without a mutant, if a mutant is not detected or disturbs an
unrelated chapter, or if a case has no mutant.`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Cases, o.Mutants = cases.All(), self.Mutants()
			if err := selectSelf(&o, args); err != nil {
				return err
			}
			show := app.NewStyle(a.Stdout)
			if show.On {
				o.Done = func(done, all int) { fmt.Fprintf(a.Stdout, "\r%d of %d", done, all) }
			}
			r, err := self.Run(c.Context(), o)
			if show.On {
				fmt.Fprint(a.Stdout, "\r\x1b[K")
			}
			if err != nil {
				return err
			}
			printSelf(a.Stdout, show, r)
			if !r.OK() {
				return &app.StatusError{Code: 1}
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&o.All, "all", false, "run every case against every mutant")
	f.IntVar(&o.Jobs, "jobs", 16, "number of endpoints at a time")
	f.DurationVar(&o.Timeout, "timeout", time.Second, "maximum time of an expected reply")
	f.DurationVar(&o.Silence, "silence", 25*time.Millisecond, "time without a reply that counts as none")
	return c
}

// selectSelf reduces the mutants to those that an argument names: their name, chapter or a case of
// them.
func selectSelf(o *self.Options, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var mutants []*self.Mutant
	known := map[string]bool{}
	for _, m := range o.Mutants {
		is := func(arg string) bool {
			return arg == m.Name || slices.ContainsFunc(m.Cases, func(id string) bool {
				chapter, _, _ := strings.Cut(id, "/")
				return arg == id || arg == chapter
			})
		}
		for _, arg := range args {
			if is(arg) {
				known[arg] = true
			}
		}
		if slices.ContainsFunc(args, is) {
			mutants = append(mutants, m)
		}
	}
	for _, arg := range args {
		if !known[arg] {
			return app.Usagef("no mutant, chapter or case of a mutant is named %q", arg)
		}
	}
	o.Mutants, o.Partial = mutants, true
	return nil
}

// printSelf prints the result of a run.
func printSelf(w io.Writer, show app.Style, r *self.Report) {
	var count [conformance.Verdicts]int
	for _, c := range r.Cases {
		count[c.Verdict]++
		if !c.OK {
			fmt.Fprintf(w, "%s %s without a mutant: %v: %s\n", show.Red("✗"), c.Case.ID, c.Verdict, c.Detail)
		}
	}
	wide := 0
	for _, o := range r.Outcomes {
		wide = max(wide, len(o.Name))
	}
	bad := 0
	for _, o := range r.Outcomes {
		mark := show.Green("✓")
		if !o.OK() {
			mark = show.Red("✗")
			bad++
		}
		var by []string
		for _, x := range o.Caught {
			by = append(by, x.Case.ID)
		}
		fmt.Fprintf(w, "%s %-*s  %s %s\n", mark, wide, o.Name, o.Breaks, show.Dim(strings.Join(by, " ")))
		for _, id := range o.Absent {
			fmt.Fprintf(w, "    there is no case %s\n", id)
		}
		for _, x := range o.Missed {
			fmt.Fprintf(w, "    %s does not detect it: %v: %s\n", x.Case.ID, x.Verdict, x.Detail)
		}
		for _, x := range o.Unrelated {
			fmt.Fprintf(w, "    %s of an unrelated chapter: %v: %s\n", x.Case.ID, x.Verdict, x.Detail)
		}
	}
	if len(r.Bare) > 0 {
		fmt.Fprintf(w, "%s cases without a mutant: %s\n", show.Red("✗"), strings.Join(r.Bare, " "))
	}
	var verdicts []string
	for v, n := range count {
		if n > 0 {
			verdicts = append(verdicts, fmt.Sprintf("%d %v", n, conformance.Verdict(v)))
		}
	}
	fmt.Fprintf(w, "%d cases without a mutant: %s\n%d of %d mutants detected, in %.1f s\n", len(r.Cases),
		strings.Join(verdicts, ", "), len(r.Outcomes)-bad, len(r.Outcomes), r.Elapsed.Seconds())
}
