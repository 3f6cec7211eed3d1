// Package app is the base of all commands of gorxe. [App] is one run of the program with its root
// command and its environment, which tests replace. [DeviceFlags] and [ManagedFlags] are the
// flags from which commands open devices. [UsageError], [FinalError], [StatusError] and
// [ListError] select exit codes and messages. The rest is what commands print with.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/verbs"
)

// Exit codes.
const (
	ExitFailure     = 1
	ExitUsage       = 2
	ExitInterrupted = 130 // as a shell reports a program that SIGINT ended
)

// App is one run of the program: its standard streams, and how it opens devices, connections and
// captures.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       func(io.Writer) bool // reports whether the writer is a terminal
	Open           func(verbs.Config) (*verbs.Device, error)
	// Addrs is packet.HostAddrs, or a replacement in tests.
	Addrs func(device string) (addrs []netip.Addr, mtu int, ifname string, err error)
	TCP   TCP
	// Host is the host for which a daemon is planned.
	Host      daemon.Host
	Daemon    daemon.Options                                       // options of a daemon, except Open
	Control   func(socket string) *control.Client                  // returns a client of the daemon at a socket
	Live      func(iface string, idle func()) (LiveCapture, error) // starts a capture; idle is called before each wait
	Recording *Recording                                           // trace of the command; nil without --trace
	more      []*Recording                                         // further traces, of AddRecording
	Commands  []Command                                            // subcommands, except version, help and completion
}

// Command makes one command of the program.
type Command func(*App) *cobra.Command

// Main runs the command line args, without the name of the program, and returns the exit code.
func (a *App) Main(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := a.endRecordings(root.ExecuteContext(ctx))
	if err == nil {
		return 0
	}
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code
	}
	var final *FinalError
	if ctx.Err() != nil && !errors.As(err, &final) {
		fmt.Fprintln(a.Stderr, "gorxe: interrupted")
		return ExitInterrupted
	}
	var list *ListError
	if errors.As(err, &list) {
		list.print(a)
		return ExitFailure
	}
	fmt.Fprintln(a.Stderr, "gorxe: "+OneLine(err))
	var usage *UsageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitFailure
}

func (a *App) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gorxe",
		Short: "A software RDMA NIC: RoCEv2 in user space",
		Long: `gorxe is a software RDMA NIC: the RoCEv2 transport in user space, without a kernel module
or privileges. It interoperates with Linux rdma_rxe; it has not been tested with an RNIC.`,
		Example: `  gorxe demo                        two software RNICs talk, and you see every packet
  gorxe devinfo -d eth0             what a device on eth0 would look like
  gorxe pingpong rc 192.0.2.7       against ibv_rc_pingpong, or gorxe, on another host
  gorxe perf write_bw 192.0.2.7     against ib_write_bw, or gorxe, on another host
  gorxe daemon                      run gorxe as this host's RNIC`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Version = BuildVersion() // adds --version and -v
	root.SetVersionTemplate(versionLine())
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usagef("%s; see '%s --help'", flagProblem(err), c.CommandPath())
	})
	for _, c := range a.Commands {
		root.AddCommand(c(a))
	}
	root.AddCommand(versionCommand(a))
	addCompletions(root)
	return root
}
