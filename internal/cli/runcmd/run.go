// Package runcmd is 'gorxe run': a program of libibverbs on a device of gorxe.
package runcmd

import (
	"fmt"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

type params struct {
	device   app.DeviceFlags
	name     string
	socket   string
	noDaemon bool
	idle     time.Duration
}

// socketVariable is the environment variable with the default of --socket.
const socketVariable = "GORXE_SOCKET"

// ownDevice are the flags of a device that gorxe run opens itself.
var ownDevice = []string{"link", "spin", "shards", "fault", "fault-in"}

// Command makes the command 'gorxe run'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGS]",
		Short: "Run an unmodified program of libibverbs on a gorxe device",
		Long: `Runs a program that uses libibverbs, as it is: it finds one RDMA device, which gorxe provides. No
kernel module and no privileges are needed, but the rxe provider of rdma-core, which
distributions install with libibverbs (Debian: ibverbs-providers).

The device belongs to a daemon, so any number of programs share it: that of --socket, this user's
'gorxe daemon', that of root if this user may use it, or else one that is started for this user
and stops some time after its last program. With --no-daemon gorxe run opens the device itself,
which takes UDP port 4791 of its addresses.

Everything that the program starts uses the same device. rdma_cm (rping, -R of perftest) is not
there yet. The exit status is the program's. setuid programs gain no rights, and 32-bit programs
find no device.`,
		Example: `  gorxe run -- ibv_devinfo -v
  gorxe run -- ib_write_bw                         server
  gorxe run -- ib_write_bw 192.0.2.1               client, on the same host or another
  gorxe run -d eth1 -- ib_write_bw 192.0.2.7       on another device; the server may be an RNIC or rxe
  gorxe run -- bash                                a shell in which every program finds the device`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usagef("name the program to run: gorxe run -- PROGRAM")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.device.Check(); err != nil {
				return err
			}
			for _, name := range ownDevice {
				if c.Flags().Changed(name) && !p.noDaemon {
					return app.Usagef("--%s is for a device that gorxe run opens itself: add --no-daemon, or choose it for a 'gorxe daemon'", name)
				}
			}
			if p.noDaemon && p.socket != "" {
				return app.Usagef("--no-daemon and --socket: choose one")
			}
			return run(c.Context(), a, p, args)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.SetInterspersed(false) // flags behind the program are the program's
	p.device.Add(fs)
	fs.Lookup("ib-dev").Usage = "network interface or local `address` of the device, or its name (default: the interface of the default route)"
	fs.StringVar(&p.name, "name", "rxe0", "`name` of the device for programs; it must begin with rxe")
	fs.StringVar(&p.socket, "socket", "", "`path` of the programs socket of a daemon (default: $"+socketVariable+", or any daemon that has the device)")
	fs.BoolVar(&p.noDaemon, "no-daemon", false, "open the device here, without a daemon")
	fs.DurationVar(&p.idle, "daemon-idle", 10*time.Second, "how `long` a daemon that is started goes on after its last program")
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

// StartCommand makes the command with which gorxe run starts a daemon. It is a process of its own between the two, so that the
// daemon is no child of gorxe run, which waits for all of its own.
func StartCommand(a *app.App) *cobra.Command {
	var log string
	c := &cobra.Command{
		Use:    "daemonize --log FILE -- FLAGS",
		Short:  "Start a daemon in the background",
		Long:   "Starts 'gorxe daemon' with some flags in the background, and returns when it is ready.",
		Hidden: true,
		RunE:   func(c *cobra.Command, args []string) error { return startDaemon(c.Context(), log, args) },
	}
	c.Flags().StringVar(&log, "log", "", "`file` for the log of the daemon")
	return c
}
