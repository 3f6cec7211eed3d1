// Package daemoncmd implements 'gorxe daemon' and the commands that inspect a running daemon.
package daemoncmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
)

// Command makes the command 'gorxe daemon'.
func Command(a *app.App) *cobra.Command {
	var file string
	var check bool
	var flags config.Flags
	c := &cobra.Command{
		Use:   "daemon",
		Short: "Run gorxe as this host's RNIC until stopped",
		Long: `Opens one or several devices and runs until SIGTERM or SIGINT, which closes
connections in an orderly way; a second one ends it immediately. With neither a file nor
flags, it opens one device, on the interface of the default route.

Every option of the file is also a flag, which overrides the file. The first --device
or --region replaces all devices or regions of the file.`,
		Example: `  gorxe daemon                                     the default device
  gorxe daemon --device eth1 --metrics-listen :9481
  gorxe daemon -c /etc/gorxe.toml
  gorxe daemon -c /etc/gorxe.toml --check          what it would do, or all that is wrong`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			plan, err := plan(c.Context(), a, file, &flags)
			if err != nil {
				return err
			}
			if check {
				plan.Print(a.Stdout)
				return nil
			}
			o := a.Daemon
			o.Version, o.Stderr, o.Open = app.BuildVersion(), a.Stderr, a.Open
			err = daemon.Run(c.Context(), plan, o)
			if err != nil && !errors.Is(err, context.Canceled) {
				return &app.FinalError{Err: err} // a regular stop is not a failure
			}
			return err
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVarP(&file, "config", "c", "", "TOML `file` to read")
	fs.BoolVar(&check, "check", false, "print what the daemon would do, or all errors, and exit")
	flags.Add(fs)
	return c
}

// plan combines the file, if there is one, and the flags into a plan for this host.
func plan(ctx context.Context, a *app.App, file string, flags *config.Flags) (*daemon.Plan, error) {
	c := config.Default()
	if file != "" {
		var err error
		switch c, err = config.Load(ctx, file); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, &app.ListError{Err: err}
		}
	}
	if err := flags.Apply(&c); err != nil {
		return nil, &app.ListError{Err: err}
	}
	p, err := daemon.MakePlan(ctx, c, a.Host)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &app.ListError{Err: err}
	}
	return p, nil
}
