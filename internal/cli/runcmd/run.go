// Package runcmd is 'gorxe run': a program of libibverbs on a device of gorxe.
package runcmd

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

type params struct {
	device app.DeviceFlags
	name   string
}

// Command makes the command 'gorxe run'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGS]",
		Short: "Run an unmodified program of libibverbs or librdmacm on a gorxe device",
		Long: `Runs a program that uses libibverbs, as it is: it finds one RDMA device, which gorxe provides. No
kernel module and no privileges are needed, but the rxe provider of rdma-core, which
distributions install with libibverbs (Debian: ibverbs-providers).

Everything that the program starts uses the same device: 'gorxe run -- bash' gives a shell in
which every RDMA program finds it. A device has UDP port 4791 of its addresses, so two commands
cannot use one address; start both programs from one shell instead. Programs of librdmacm
(rping, -R of perftest) name an address of the device.

The exit status is the program's. setuid programs gain no rights, and 32-bit programs find no
device.`,
		Example: `  gorxe run -- ibv_devinfo -v
  gorxe run -d eth0 -- ib_write_bw                 server, on one host
  gorxe run -d eth0 -- ib_write_bw 192.0.2.7       client, on another; the server may be an RNIC or rxe
  gorxe run -- bash                                a shell in which every program finds the device`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usagef("name the program to run: gorxe run -- PROGRAM")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := p.device.Check(); err != nil {
				return err
			}
			return run(a, p, args)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.SetInterspersed(false) // flags behind the program are the program's
	p.device.Add(fs)
	fs.Lookup("ib-dev").Usage = "network interface or local `address` of the device (default: the interface of the default route)"
	fs.StringVar(&p.name, "name", "rxe0", "`name` of the device for programs; it must begin with rxe")
	return c
}

// choose returns the interface or address to open the device on.
func (p *params) choose(a *app.App) (string, error) {
	if p.device.Interface != "" {
		return p.device.Interface, nil
	}
	if names := a.Host.Suggest(); len(names) > 0 {
		return names[0], nil
	}
	return "", fmt.Errorf("no network interface suggests itself: name one, or an address, with -d")
}
