// Package topcmd implements 'gorxe top', which shows the flows of a live capture, worst first. A
// meter counts the packets of each flow; at the end of each interval it returns a table, which is
// rendered into lines. A screen shows them on a terminal.
package topcmd

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/sources"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/filter"
)

// params are the parameters of 'gorxe top'.
type params struct {
	source   string // path of a file, "-", or empty
	live     sources.Live
	interval time.Duration
	count    int // number of blocks; 0 means no limit
	rows     int // maximum number of flows in a block; 0 means all
	order    string
	filter   string
}

// minInterval is the shortest interval.
const minInterval = 10 * time.Millisecond

// Command makes the command 'gorxe top'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	var fs interface{ Changed(string) bool }
	c := &cobra.Command{
		Use:   "top [FILE|-]",
		Short: "Show the flows of a live capture, worst first",
		Long: `Shows the flows on a network interface (-i) or of the daemon (--daemon): rates, retransmissions,
timeouts, NAKs, congestion and round trip times. On a terminal it redraws the table at each
interval, and the keys s (next sort column) and q (quit) work. Elsewhere it writes one block for
each interval. It also reads a capture from FILE, or from standard input with -: then the times of
the frames are the clock, and intervals without RoCEv2 packets are left out.

Columns, all of the interval:
  BIT/S    payload without retransmissions, in both directions
  PKT/S    packets, with acknowledgements
  RESENT   share of the data packets that were retransmitted
  TMO      times that an end began to retransmit without a NAK
  NAK/S    NAKs except RNR NAKs        RNR/S  RNR NAKs        CNP/S  congestion notifications
  CE       share of the packets that a switch marked (ECN Congestion Experienced)
  RTT      mean round trip time, from a READ, an atomic or a request with AckReq to its response
The order worst has flows that failed first, then those with errors, then by RESENT, TMO, the sum
of NAK/S, RNR/S and CNP/S, and BIT/S. A flow without packets is shown for 10 more intervals.`,
		Example: `  gorxe top -i eth0
  gorxe top --daemon --sort cnp
  gorxe top -i eth0 --interval 10s -n 6 > top.txt
  gorxe top capture.pcapng --interval 100ms`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return app.Usagef("%s takes one file; unexpected argument %q", c.CommandPath(), args[1])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			p.source = app.HostArg(args)
			if err := p.check(fs.Changed("iterations")); err != nil {
				return err
			}
			return run(c.Context(), a, p)
		},
	}
	flags := c.Flags()
	fs = flags
	flags.SortFlags = false
	p.live.Add(flags)
	flags.DurationVar(&p.interval, "interval", time.Second, "`duration` of an interval, at least 10ms")
	flags.IntVarP(&p.count, "iterations", "n", 0, "end after a `number` of intervals (default: no limit)")
	flags.StringVar(&p.order, "sort", orders[0].name, "`order` of the flows: "+orderNames())
	flags.IntVar(&p.rows, "rows", 20, "maximum `number` of flows in a block, 0 for all (on a terminal: what fits)")
	flags.StringVar(&p.filter, "filter", "",
		"count only packets that the `expression` matches; see 'gorxe trace --help'")
	return c
}

func (p *params) check(counted bool) error {
	if err := p.live.Check(p.source); err != nil {
		return err
	}
	switch {
	case p.source == "" && !p.live.Selected():
		return app.Usagef("give -i INTERFACE, --daemon, or a FILE (- for standard input)")
	case p.interval < minInterval:
		return app.Usagef("--interval %v: must be at least %v", p.interval, minInterval)
	case orderCalled(p.order) < 0:
		return app.Usagef("--sort %q: the orders are %s", p.order, orderNames())
	}
	if counted {
		if err := app.CheckRanges(app.InRange("-n", p.count, 1, math.MaxInt32)); err != nil {
			return err
		}
	}
	return app.CheckRanges(app.InRange("--rows", p.rows, 0, math.MaxInt32))
}

// run reads a capture and shows its flows.
func run(ctx context.Context, a *app.App, p *params) error {
	chosen, err := filter.Parse(p.filter)
	if err != nil {
		return app.Usagef("--%v", err)
	}
	m := newMeter()
	pipe := &trace.Pipeline{Outputs: []trace.Output{m}, Options: trace.Options{NoMeaning: true, Merged: m.merged}}
	if p.filter != "" {
		pipe.Filter = chosen
	}
	v := view{order: orderCalled(p.order), rows: p.rows, style: app.NewStyle(a.Stdout)}
	if p.live.Selected() {
		return runLive(ctx, a, p, pipe, m, v)
	}
	return runFile(ctx, a, p, pipe, m, v)
}

// write writes a block, separated from the previous one by an empty line.
func write(a *app.App, lines []string, first bool) error {
	if !first {
		lines = append([]string{""}, lines...)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(a.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}
