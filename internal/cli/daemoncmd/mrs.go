package daemoncmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
)

func mrsCommand(a *app.App) *cobra.Command {
	var f flags
	c := inspectCommand("mrs", "Show the daemon's memory regions and windows",
		`Shows the memory regions and windows of a running 'gorxe daemon', oldest first. A
connected peer that knows a key can access the memory: keep this output secret.`,
		`  gorxe mrs
  gorxe mrs -d eth0 --json`, func(ctx context.Context) error {
			return ask(ctx, a, &f, "/v1/mrs", f.query(), printMRs)
		})
	f.add(c.Flags(), true)
	return c
}

func printMRs(w io.Writer, answer *struct{ MRs []control.MR }) {
	rows := [][]string{{"DEVICE", "KEY", "KIND", "PD", "ADDRESS", "LENGTH", "ACCESS", "WINDOWS", "OF",
		"QPN", "PROGRAM"}}
	for _, m := range answer.MRs {
		address, qpn := m.Address, ""
		if !m.OpensMemory {
			address = "none"
		}
		if m.QPN != 0 {
			qpn = fmt.Sprintf("%#06x", m.QPN)
		}
		rows = append(rows, []string{
			m.Device, m.Key, m.Kind, strconv.Itoa(int(m.PD)), address, config.Size(m.Length), strings.ToLower(m.Access),
			strconv.Itoa(m.Windows), m.Parent, qpn, m.Program,
		})
	}
	app.PrintTable(w, rows)
}

func cmsCommand(a *app.App) *cobra.Command {
	var f flags
	c := inspectCommand("cms", "Show the daemon's connections",
		`Shows the connections of the connection manager of a running 'gorxe daemon' that are
established, being established or in TIME-WAIT.`, `  gorxe cms`, func(ctx context.Context) error {
			return ask(ctx, a, &f, "/v1/cms", f.query(), printCMs)
		})
	f.add(c.Flags(), true)
	return c
}

func printCMs(w io.Writer, answer *struct{ CMs []control.CM }) {
	rows := [][]string{{"DEVICE", "ID", "REMOTE ID", "STATE", "SPACE", "LOCAL", "REMOTE", "QPN", "RQPN", "AGE"}}
	for _, c := range answer.CMs {
		rows = append(rows, []string{
			c.Device, fmt.Sprintf("0x%08x", c.LocalID), fmt.Sprintf("0x%08x", c.RemoteID), c.State, c.PortSpace,
			c.Local.String(), c.Remote.String(), fmt.Sprintf("%#06x", c.QPN),
			fmt.Sprintf("%#06x", c.RemoteQPN), age(c.Age),
		})
	}
	app.PrintTable(w, rows)
}

func statsCommand(a *app.App) *cobra.Command {
	var f flags
	var all bool
	c := inspectCommand("stats", "Show the daemon's counters",
		`Shows the counters of the devices of a running 'gorxe daemon', from 0 when they were opened, and
without -d also those of its built-in server. Counters that Linux rxe has among its hw_counters have
the same names.`,
		`  gorxe stats
  gorxe stats --all -d eth0`, func(ctx context.Context) error {
			return ask(ctx, a, &f, "/v1/stats", f.query(),
				func(w io.Writer, s *struct{ Stats []control.Stats }) { printStats(w, s.Stats, all) })
		})
	f.add(c.Flags(), true)
	c.Flags().BoolVarP(&all, "all", "a", false, "include counters that are 0")
	return c
}

// printStats prints the counters of the devices, and below them those of the daemon itself.
func printStats(w io.Writer, stats []control.Stats, all bool) {
	own := slices.IndexFunc(stats, func(s control.Stats) bool { return s.Device == "" })
	if own < 0 {
		printCounters(w, stats, all)
		return
	}
	printCounters(w, slices.Delete(slices.Clone(stats), own, own+1), all)
	fmt.Fprintln(w)
	printCounters(w, []control.Stats{{Device: "daemon", Counters: stats[own].Counters}}, all)
}

// printCounters prints a row for each counter and a column for each device.
func printCounters(w io.Writer, stats []control.Stats, all bool) {
	head, names := []string{"COUNTER"}, map[string]bool{}
	for _, s := range stats {
		head = append(head, s.Device)
		for name, value := range s.Counters {
			if all || value > 0 {
				names[name] = true
			}
		}
	}
	rows := [][]string{head}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := []string{name}
		for _, s := range stats {
			row = append(row, strconv.FormatUint(s.Counters[name], 10))
		}
		rows = append(rows, row)
	}
	app.PrintTable(w, rows)
}
