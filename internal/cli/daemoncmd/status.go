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
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
)

func statusCommand(a *app.App) *cobra.Command {
	var f flags
	c := inspectCommand("status", "Show the daemon, its devices and their GIDs",
		`Shows the version, services, devices, GIDs, regions and programs of a running 'gorxe daemon'.`,
		`  gorxe status
  gorxe status --json`, func(ctx context.Context) error {
			return ask(ctx, a, &f, "/v1/status", nil, printStatus)
		})
	f.add(c.Flags(), false)
	return c
}

func printStatus(w io.Writer, s *control.Status) {
	fmt.Fprintf(w, "gorxe %s, process %d, %s for %s\n", s.Version, s.PID, s.State, age(time.Since(s.Started).Seconds()))
	metrics := "off"
	if s.Metrics != "" {
		metrics = "http://" + s.Metrics + "/metrics"
	}
	fmt.Fprintf(w, "control %s, metrics %s, log level %s\n", s.Socket, metrics, s.LogLevel)
	services := "none"
	for i, s := range s.Services {
		if i == 0 {
			services = ""
		} else {
			services += ", "
		}
		services += fmt.Sprintf("%s (port %d)", s.Name, s.Port)
	}
	fmt.Fprintf(w, "services %s\n", services)
	if s.ProgramsSocket != "" {
		fmt.Fprintf(w, "programs %s\n", s.ProgramsSocket)
	}
	fmt.Fprintln(w)

	rows := [][]string{{"DEVICE", "INTERFACE", "PORT", "MTU", "QPS", "MRS", "PEERS", "NODE GUID"}}
	gids := [][]string{{"DEVICE", "GID INDEX", "GID", "LINK", "MTU"}}
	var remarks []string
	for _, d := range s.Devices {
		rows = append(rows, []string{d.Name, d.Interface, strings.TrimPrefix(d.Port, "PORT_"), strconv.Itoa(d.MTU),
			strconv.Itoa(d.QPs), strconv.Itoa(d.MRs), peersText(d.Peers), d.NodeGUID})
		for _, g := range d.GIDs {
			gids = append(gids, []string{d.Name, strconv.Itoa(g.Index), g.GID, g.Link, strconv.Itoa(g.MTU)})
		}
		for _, why := range d.Skipped {
			remarks = append(remarks, fmt.Sprintf("%s: address skipped: %s", d.Name, why))
		}
		if d.SendError != "" {
			remarks = append(remarks, fmt.Sprintf("%s: the host refused to send: %s", d.Name, d.SendError))
		}
	}
	app.PrintTable(w, rows)
	fmt.Fprintln(w)
	app.PrintTable(w, gids)
	if len(s.Regions) > 0 {
		regions := [][]string{{"DEVICE", "REGION", "KIND", "LENGTH", "ACCESS", "PEERS", "CONNECTIONS"}}
		for _, r := range s.Regions {
			regions = append(regions, []string{r.Device, r.Name, r.Kind, strconv.FormatUint(r.Length, 10),
				strings.Join(r.Access, ","), peersText(r.Peers), strconv.Itoa(r.Connections)})
			if r.Error != "" {
				remarks = append(remarks,
					fmt.Sprintf("%s: region %s: %s", r.Device, r.Name, strings.TrimPrefix(r.Error, "hostmem: ")))
			}
		}
		fmt.Fprintln(w)
		app.PrintTable(w, regions)
	}
	if len(s.Programs) > 0 {
		programs := [][]string{{"PROGRAM", "USER", "DEVICE", "CONTEXTS"}}
		for _, p := range s.Programs {
			programs = append(programs,
				[]string{p.Program, strconv.FormatUint(uint64(p.User), 10), p.Device, strconv.Itoa(p.Contexts)})
		}
		fmt.Fprintln(w)
		app.PrintTable(w, programs)
	}
	if len(remarks) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(remarks, "\n"))
	}
}

// peersText returns the peers that have access.
func peersText(peers []netip.Prefix) string {
	var words []string
	for _, p := range peers {
		words = append(words, p.String())
	}
	if len(words) == 0 {
		return "all"
	}
	return strings.Join(words, ",")
}

func loglevelCommand(a *app.App) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "loglevel [LEVEL]",
		Short: "Show or change the log level of the daemon",
		Long: "Shows the minimum level that a running 'gorxe daemon' logs, or changes it: " +
			strings.Join(config.Levels, ", ") + ".",
		Example: `  gorxe loglevel
  gorxe loglevel debug`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return app.Usagef("%s takes one level; unexpected argument %q", c.CommandPath(), args[1])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if _, err := config.ParseLevel(args[0]); err != nil {
					return app.Usagef("level: %v", err)
				}
				if err := a.Control(f.socket).Put(c.Context(), "/v1/log", control.Log{Level: args[0]}); err != nil {
					return err
				}
			}
			return ask(c.Context(), a, &f, "/v1/log", nil,
				func(w io.Writer, l *control.Log) { fmt.Fprintln(w, l.Level) })
		},
	}
	f.add(c.Flags(), false)
	return c
}
