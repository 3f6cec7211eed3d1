package daemoncmd

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
)

func qpsCommand(a *app.App) *cobra.Command {
	var f flags
	var typ, state string
	var watch bool
	var interval time.Duration
	c := inspectCommand("qps", "Show the daemon's queue pairs",
		`Shows the queue pairs of a running 'gorxe daemon', oldest first.

UNACKED are packets that were sent and not acknowledged, SENDQ and RECVQ the work requests in a
queue and its depth, RETRY the remaining retries, RESENT retransmitted packets.`,
		`  gorxe qps
  gorxe qps --watch --state RTS
  gorxe qps --json | jq '.qps[] | select(.unacknowledged_packets > 0)'`, func(ctx context.Context) error {
			if interval <= 0 {
				return app.Usagef("--interval %v: it must be more than 0", interval)
			}
			q := f.query()
			for key, value := range map[string]string{"type": typ, "state": state} {
				if value != "" {
					q.Set(key, strings.ToUpper(value))
				}
			}
			show := func() error { return ask(ctx, a, &f, "/v1/qps", q, printQPs) }
			if !watch {
				return show()
			}
			return repeat(ctx, a, interval, show)
		})
	fs := c.Flags()
	f.add(fs, true)
	fs.StringVar(&typ, "type", "", "only queue pairs of a `type`: RC, UC, UD or GSI")
	fs.StringVar(&state, "state", "", "only queue pairs in a `state`, such as RTS or ERR")
	fs.BoolVarP(&watch, "watch", "w", false, "repeat until interrupted")
	fs.DurationVar(&interval, "interval", time.Second, "`duration` between two lists of --watch")
	return c
}

// repeat calls show at an interval until ctx is done, which is not a failure. On a terminal each
// output replaces the previous one; elsewhere an empty line separates them.
func repeat(ctx context.Context, a *app.App, interval time.Duration, show func() error) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	terminal := app.IsTerminal(a.Stdout)
	for first := true; ; first = false {
		switch {
		case terminal:
			fmt.Fprint(a.Stdout, "\x1b[H\x1b[2J")
		case !first:
			fmt.Fprintln(a.Stdout)
		}
		if err := show(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func printQPs(w io.Writer, answer *struct{ QPs []control.QP }) {
	rows := [][]string{{"DEVICE", "QPN", "TYPE", "STATE", "LOCAL", "REMOTE", "RQPN", "MTU", "UNACKED", "SENDQ", "RECVQ",
		"RETRY", "RESENT", "AGE", "PROGRAM"}}
	for _, q := range answer.QPs {
		remote, mtu, retry := "", "", ""
		if q.GIDIndex >= 0 {
			remote, mtu = fmt.Sprintf("%#06x", q.RemoteQPN), strconv.Itoa(q.MTU)
		}
		if q.Type == "RC" && q.GIDIndex >= 0 {
			retry = strconv.Itoa(int(q.Retries))
			if q.RNRWait {
				retry += " rnr"
			}
		}
		rows = append(rows, []string{
			q.Device, fmt.Sprintf("%#06x", q.QPN), q.Type, q.State, addrText(q.Local), addrText(q.Remote), remote, mtu,
			strconv.Itoa(q.Unacked), fmt.Sprintf("%d/%d", q.SendQueue, q.SendDepth),
			fmt.Sprintf("%d/%d", q.RecvQueue, q.RecvDepth),
			retry, strconv.FormatUint(q.Counters["retransmitted_pkts"], 10), age(q.Age), q.Program,
		})
	}
	app.PrintTable(w, rows)
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
