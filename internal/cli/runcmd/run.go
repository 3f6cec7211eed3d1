// Package runcmd implements 'gorxe run', which runs a program that uses libibverbs on a gorxe
// device.
// connect_linux.go finds or starts the daemon that owns the device, run_linux.go runs the program
// under package trap.
package runcmd

import (
	"fmt"
	"slices"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type params struct {
	device app.DeviceFlags
	name   string
	socket string
	alone  bool // open a device for this command alone
	idle   time.Duration
}

// socketVariable is the environment variable with the default of --socket.
const socketVariable = "GORXE_SOCKET"

// ownDevice are the flags of a device that gorxe run opens itself.
var ownDevice = []string{"link", "spin", "shards", "loopback", "fault", "fault-in"}

// Command makes the command 'gorxe run'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGS]",
		Short: "Run an unmodified program that uses libibverbs or librdmacm on a gorxe device",
		Long: `Runs an unmodified program that uses libibverbs. The program finds one RDMA device, which gorxe
provides. It needs no kernel module and no privileges, only the rxe provider of rdma-core, which
distributions install with libibverbs (Debian: ibverbs-providers).

Everything that the program starts uses the same device: 'gorxe run -- bash' gives a shell in
which every RDMA program finds it. With programs that use librdmacm (rping, perftest's -R), give the
client an address of the server's device.

A daemon owns the device, so that several commands share it. With --socket or $GORXE_SOCKET, the
command uses that daemon and no other. Otherwise it uses the first of these that has the device of
-d: the 'gorxe daemon' of this user, the one with the socket /run/gorxe/programs.sock (of root or
of the packaged service) if this user can open it, or a daemon that the command starts and that
stops after its last program. Without -d, the program gets the first device of the daemon.

With --no-daemon, or one of --link, --spin, --shards, --loopback, --fault and --fault-in, which
imply it, the command opens a device of its own; UDP port 4791 of its addresses must be free.

The exit status is the program's; 127 if the program does not exist, 126 if it is not executable.
Set-user-ID bits have no effect, and 32-bit programs find no device.`,
		Example: `  gorxe run -- ibv_devinfo -v
  gorxe run -d eth0 -- ib_write_bw                 server, on one host
  gorxe run -d eth0 -- ib_write_bw 192.0.2.7       client, on another; the server may be an RNIC or rxe
  gorxe run -d eth0 -- ib_write_bw 192.0.2.1       client on the same host, 192.0.2.1
  gorxe run --no-daemon --link raw -- ib_read_bw   server on a device of its own
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
			if err := p.chooseOwner(c.Flags()); err != nil {
				return err
			}
			return run(c.Context(), a, p, args)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.SetInterspersed(false) // flags after the program belong to the program
	p.device.Add(fs)
	fs.Lookup("ib-dev").Usage = "network interface or local `address` of the device, or its name in the daemon " +
		"(default: the first device of the daemon; if the command opens a device or starts a daemon, the interface of the default route)"
	fs.BoolVar(&p.device.Loopback, "loopback", true,
		"let queue pairs of the device that are connected to each other exchange packets in memory instead of through the "+
			"host's network stack; datagram queue pairs always use the link")
	fs.StringVar(&p.name, "name", "rxe0", "`name` of the device for programs; it must begin with rxe")
	fs.StringVar(&p.socket, "socket", "",
		"`path` of the daemon's programs socket, programs.sock; no other daemon is tried (default: $"+
			socketVariable+")")
	fs.BoolVar(&p.alone, "no-daemon", false, "open a device for this command alone")
	fs.DurationVar(&p.idle, "daemon-idle", 10*time.Second,
		"`duration` for which a started daemon keeps running after its last program")
	return c
}

// chooseOwner sets alone. A flag of a device implies a device that gorxe run opens itself.
func (p *params) chooseOwner(fs *pflag.FlagSet) error {
	why := "no-daemon"
	if !p.alone {
		i := slices.IndexFunc(ownDevice, fs.Changed)
		if i < 0 {
			return nil
		}
		p.alone, why = true, ownDevice[i]
	}
	for _, name := range []string{"socket", "daemon-idle"} {
		if fs.Changed(name) {
			return app.Usagef(
				"--%s is for a device that gorxe run opens itself, --%s for that of a daemon: omit one of them",
				why, name)
		}
	}
	return nil
}

// choose returns the interface or address to open the device on.
func (p *params) choose(a *app.App) (string, error) {
	if p.device.Interface != "" {
		return p.device.Interface, nil
	}
	if names := a.Host.Suggest(); len(names) > 0 {
		return names[0], nil
	}
	return "", fmt.Errorf("no default network interface: name one, or an address, with -d")
}

// StartCommand makes the command with which gorxe run starts a daemon. It runs in a process
// between the two, so that the daemon is not a child of gorxe run, which waits for all its
// children.
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
