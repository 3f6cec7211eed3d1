package conformcmd

import (
	"slices"
	"strings"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// choose returns the cases that names select: IDs and chapters. Without names, it returns all.
func choose(all []*conformance.Case, names []string) ([]*conformance.Case, error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		if !slices.ContainsFunc(all, func(c *conformance.Case) bool { return selects(n, c) }) {
			return nil, app.Usagef(
				"%q is no case and no chapter; 'gorxe conform --list' lists the cases, chapters are %s", n,
				strings.Join(chapters(all), ", "))
		}
	}
	var chosen []*conformance.Case
	for _, c := range all {
		if slices.ContainsFunc(names, func(n string) bool { return selects(n, c) }) {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

func selects(name string, c *conformance.Case) bool { return name == c.ID || name == c.Chapter() }

func chapters(all []*conformance.Case) []string {
	var list []string
	for _, c := range all {
		if !slices.Contains(list, c.Chapter()) {
			list = append(list, c.Chapter())
		}
	}
	return list
}

// complete completes cases and chapters after HOST, and the values of flags.
func (p *params) complete(c *cobra.Command, all []*conformance.Case) {
	names := func() []cobra.Completion {
		list := chapters(all)
		for _, c := range all {
			list = append(list, cobra.CompletionWithDesc(c.ID, c.Rule))
		}
		return list
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) (
		[]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
	// The only possible error is that there is no such flag.
	_ = c.RegisterFlagCompletionFunc("case", app.FixedCompletions(names))
	_ = c.RegisterFlagCompletionFunc("link", app.FixedCompletions(func() []cobra.Completion { return linkKinds }))
}

// linkKinds are the values of --link.
var linkKinds = []string{"udp", "raw", "auto"}

// printList prints the selected cases. A first argument that selects none may be HOST.
func (p *params) printList(a *app.App, all []*conformance.Case, args []string) error {
	chosen, err := choose(all, append(args, p.only...))
	if err != nil && len(args) > 0 {
		chosen, err = choose(all, append(args[1:], p.only...))
	}
	if err != nil {
		return err
	}
	if p.json {
		return report.WriteList(a.Stdout, chosen)
	}
	rows := [][]string{{"case", "level", "device runs", "rule"}}
	for _, c := range chosen {
		rows = append(rows, []string{c.ID, c.Level.String(), c.Program.String(), c.Rule})
	}
	app.PrintTable(a.Stdout, rows)
	return nil
}
