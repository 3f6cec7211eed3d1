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
		Long: `Opens one or several devices and runs until SIGTERM or SIGINT. Then it ends rdma_cm
connections and the objects of programs, and waits for up to --drain for the peers' answers
and for perftest and pingpong sessions to end. A second signal ends it immediately.

Without a device in the file or flags, it opens one on the interface of the default route;
without a default route, one on every interface that is up and has an address; without such
an interface, one on 127.0.0.1.

Every option of the file is also a flag, which overrides the file. If --device is given, the
devices of the file are ignored; likewise --region.

docs/operations.md describes all options.`,
		Example: `  gorxe daemon                                     the default device
  gorxe daemon --device eth1 --metrics-listen :9481
  gorxe daemon --device interface=eth1,link=auto,gids=v4,mtu=1024
  gorxe daemon --region name=scratch,size=1MiB,access=read,access=write
  gorxe daemon -c /etc/gorxe/gorxe.toml
  gorxe daemon -c /etc/gorxe/gorxe.toml --check    what it would do, or the mistakes in the file`,
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
	fs.BoolVar(&check, "check", false,
		"print what the daemon would do, or the mistakes in file and flags (up to 100), and exit")
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
