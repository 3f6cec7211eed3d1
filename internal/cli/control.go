package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
)

// lookFlags are those of the commands that look into a daemon.
type lookFlags struct {
	socket string
	json   bool
	device string
}

func (f *lookFlags) add(fs *pflag.FlagSet, device bool) {
	fs.SortFlags = false
	fs.StringVar(&f.socket, "socket", "", "`path` of the daemon's control socket (default: this user's, or root's)")
	fs.BoolVar(&f.json, "json", false, "print what the daemon answers, as JSON")
	if device {
		fs.StringVarP(&f.device, "device", "d", "", "`name` of a device (default: all)")
	}
}

func (f *lookFlags) query() url.Values {
	q := url.Values{}
	if f.device != "" {
		q.Set("device", f.device)
	}
	return q
}

// ask gets a path from the daemon, and prints the answer as JSON if that is what people want, or
// lets print make something of it.
func ask[T any](ctx context.Context, a *app, f *lookFlags, path string, query url.Values, print func(io.Writer, *T)) error {
	c := a.control(f.socket)
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
		_, err := b.WriteTo(a.stdout)
		return err
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("the daemon's answer: %w: it may be of another version", err)
	}
	print(a.stdout, &v)
	return nil
}

// control is a client of the daemon at a socket, or at that which is found.
func findControl(socket string) *control.Client {
	if socket == "" {
		var err error
		if socket, err = control.FindSocket(); err != nil {
			return control.NewClient(socket, func(context.Context) (net.Conn, error) { return nil, err })
		}
	}
	return control.NewClient(socket, nil)
}

// table prints rows in columns, the first row being their names. Rows of people's tables have
// no empty cells.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if cell == "" {
				cell = "-"
			}
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// age writes a time that has gone by with its two largest units.
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

// lookCommand is a command that looks into a daemon.
func lookCommand(use, short, long, example string, run func(context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) },
	}
}
