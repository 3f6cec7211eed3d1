// Package runcmd is 'gorxe run': a program of libibverbs on a device of gorxe.
package runcmd

import (
	"fmt"
	"os"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

type params struct {
	device app.DeviceFlags
	name   string
	socket string
	daemon bool
	idle   time.Duration
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
		Short: "Run an unmodified program of libibverbs or librdmacm on a gorxe device",
		Long: `Runs a program that uses libibverbs, as it is: it finds one RDMA device, which gorxe provides. No
kernel module and no privileges are needed, but the rxe provider of rdma-core, which
distributions install with libibverbs (Debian: ibverbs-providers).

Everything that the program starts uses the same device: 'gorxe run -- bash' gives a shell in
which every RDMA program finds it. A device has UDP port 4791 of its addresses, so two commands
cannot use one address; start both programs from one shell instead, or give both --daemon: then
the device is that of a daemon, of --socket, of this user, of root if this user may use it, or
else of one that is started for this user and stops some time after its last program. Programs
of librdmacm (rping, -R of perftest) name an address of the device; a daemon does not serve
them yet.

The exit status is the program's. setuid programs gain no rights, and 32-bit programs find no
device.`,
		Example: `  gorxe run -- ibv_devinfo -v
  gorxe run -d eth0 -- ib_write_bw                 server, on one host
  gorxe run -d eth0 -- ib_write_bw 192.0.2.7       client, on another; the server may be an RNIC or rxe
  gorxe run --daemon -- ib_write_bw                server
  gorxe run --daemon -- ib_write_bw 192.0.2.1      client, on the same host
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
				if c.Flags().Changed(name) && p.usesDaemon() {
					return app.Usagef("--%s is for a device that gorxe run opens itself, not for that of a daemon: "+
						"choose it for the 'gorxe daemon'", name)
				}
			}
			return run(c.Context(), a, p, args)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.SetInterspersed(false) // flags behind the program are the program's
	p.device.Add(fs)
	fs.Lookup("ib-dev").Usage = "network interface or local `address` of the device, or its name " +
		"(default: the interface of the default route)"
	fs.StringVar(&p.name, "name", "rxe0", "`name` of the device for programs; it must begin with rxe")
	fs.StringVar(&p.socket, "socket", "",
		"use the device of the daemon with this `path` of its programs socket (default: $"+socketVariable+")")
	fs.BoolVar(&p.daemon, "daemon", false, "use the device of a daemon, which is started if there is none")
	fs.DurationVar(&p.idle, "daemon-idle", 10*time.Second,
		"how `long` a daemon that is started goes on after its last program")
	return c
}

// usesDaemon reports whether the device is that of a daemon.
func (p *params) usesDaemon() bool {
	return p.daemon || p.socket != "" || os.Getenv(socketVariable) != ""
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

// StartCommand makes the command with which gorxe run starts a daemon. It is a process of its own between the two, so
// that the daemon is no child of gorxe run, which waits for all of its own.
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
