// Package conformcmd implements 'gorxe conform'.
package conformcmd

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// Command makes the command 'gorxe conform'.
func Command(a *app.App) *cobra.Command {
	d := device.Stock{GIDIndex: -1}
	local := ""
	c := &cobra.Command{
		Use:   "conform HOST",
		Short: "Test whether a RoCEv2 endpoint keeps the rules of the InfiniBand specification",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if d.Host, err = netip.ParseAddr(args[0]); err != nil {
				return err
			}
			d.Addr = d.Host
			from, err := netip.ParseAddr(local)
			if err != nil {
				return err
			}
			l, err := wire.ListenUDP(from)
			if err != nil {
				return err
			}
			defer l.Close()
			defer d.Close()
			r := conformance.Runner{Device: &d, Link: l, Done: func(x *conformance.Result) {
				fmt.Fprintf(a.Stdout, "%-12s %-14s %s %s (%.1fs)\n", x.Case.ID, x.Verdict, x.Case.Rule, x.Detail, x.Elapsed.Seconds())
			}}
			r.Run(c.Context(), cases.All())
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&d.Start, "dut-start", "", "shell command that runs a program on the device")
	f.StringVar(&d.Name, "dut-device", "", "RDMA device of the programs")
	f.IntVar(&d.GIDIndex, "dut-gid", -1, "GID index of the programs")
	f.Uint16Var(&d.Port, "dut-port", 0, "first TCP port of the programs' handshakes (default 18515)")
	f.StringVar(&local, "local", "", "local address")
	c.AddCommand(selfCommand(a))
	return c
}
