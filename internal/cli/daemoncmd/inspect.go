package daemoncmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// InspectCommands are the commands that inspect a running daemon.
var InspectCommands = []app.Command{statusCommand, qpsCommand, mrsCommand, cmsCommand, statsCommand, loglevelCommand}

// flags are the flags of the commands that inspect a daemon.
type flags struct {
	socket string
	json   bool
	device string
}

func (f *flags) add(fs *pflag.FlagSet, device bool) {
	fs.SortFlags = false
	fs.StringVar(&f.socket, "socket", "", "`path` of the daemon's control socket (default: the first that exists of: this user's; that of a daemon that 'gorxe run' started; /run/gorxe/control.sock)")
	fs.BoolVar(&f.json, "json", false, "print the daemon's response as JSON")
	if device {
		fs.StringVarP(&f.device, "device", "d", "", "`name` of a device (default: all)")
	}
}

func (f *flags) query() url.Values {
	q := url.Values{}
	if f.device != "" {
		q.Set("device", f.device)
	}
	return q
}

// ask gets a path from the daemon. It prints the answer as JSON with --json, otherwise with
// print.
func ask[T any](ctx context.Context, a *app.App, f *flags, path string, query url.Values,
	print func(io.Writer, *T)) error {
	c := a.Control(f.socket)
	var text json.RawMessage
	if err := c.Get(ctx, path, query, &text); err != nil {
		return err
	}
	if f.json {
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return err
		}
		b.WriteByte('\n')
		_, err := b.WriteTo(a.Stdout)
		return err
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("the daemon's answer: %w: it may be of another version", err)
	}
	print(a.Stdout, &v)
	return nil
}

// age formats a duration with its two largest units.
func age(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Truncate(time.Second)
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// inspectCommand returns a command that inspects a daemon.
func inspectCommand(use, short, long, example string, run func(context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) },
	}
}
