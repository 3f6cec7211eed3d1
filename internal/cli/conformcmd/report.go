package conformcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// reportCommand makes 'gorxe conform report'.
func reportCommand(a *app.App) *cobra.Command {
	f := &files{}
	names := []string(nil)
	c := &cobra.Command{
		Use:   "report FILE... [flags]",
		Short: "Make a matrix of several devices from the JSON of their runs",
		Long: `report reads what 'gorxe conform HOST --json' has printed for one or several devices. It prints the
verdicts as a table, or writes them to the files that the flags name.`,
		Example: `  gorxe conform report rxe.json fpga.json                     a table
  gorxe conform report rxe.json fpga.json --html page.html    a page with the packets of the failures`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usagef("name the files that 'gorxe conform HOST --json' has written")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(names) > 0 && len(names) != len(args) {
				return app.Usagef("--name is given %d times for %d files", len(names), len(args))
			}
			if f.badge != "" && len(args) > 1 {
				return app.Usagef("--badge is for one device: name one file")
			}
			reports, err := read(args)
			if err != nil {
				return err
			}
			for i, n := range names {
				reports[i].Device = n
			}
			if err := f.create(report.JUnit{}); err != nil {
				return err
			}
			if len(f.open) > 0 {
				return f.write(reports...)
			}
			app.PrintTable(a.Stdout, report.Table(reports...))
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	c.Flags().SortFlags = false
	f.add(c.Flags())
	c.Flags().StringArrayVar(&names, "name", nil, "`name` of a device instead of that in its file; once for each file")
	return c
}

// read reads reports.
func read(names []string) (reports []*report.Report, err error) {
	var errs []error
	for _, name := range names {
		r, err := readFile(name)
		errs = append(errs, err)
		reports = append(reports, r)
	}
	if errs = slices.DeleteFunc(errs, func(e error) bool { return e == nil }); len(errs) > 0 {
		return nil, &app.ListError{Err: errors.Join(errs...)}
	}
	return reports, nil
}

func readFile(name string) (*report.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := report.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
