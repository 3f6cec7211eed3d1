package cli

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
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130 // as a shell reports a program that ended by SIGINT
)

// app is one run of the program: where it prints, and what it opens devices with.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       func(io.Writer) bool // whether a person looks at it
	open           func(verbs.Config) (*verbs.Device, error)
	addrs          func(device string) (addrs []netip.Addr, mtu int, ifname string, err error) // those of packet.HostAddrs
	tcp            tcp
	host           daemon.Host    // that a daemon is planned for
	daemon         daemon.Options // what a daemon listens with, besides open
	control        func(socket string) *control.Client
	live           func(iface string, idle func()) (liveCapture, error)
	recording      *recording // of what --trace asks for; nil without
	commands       []command  // below the root, besides version, help and completion
}

// command makes a command of the program.
type command func(*app) *cobra.Command

func (a *app) main(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := a.endRecording(root.ExecuteContext(ctx))
	if err == nil {
		return 0
	}
	var final *finalError
	if ctx.Err() != nil && !errors.As(err, &final) {
		fmt.Fprintln(a.stderr, "gorxe: interrupted")
		return exitInterrupted
	}
	var list *listError
	if errors.As(err, &list) {
		list.print(a)
		return exitFailure
	}
	fmt.Fprintln(a.stderr, "gorxe: "+oneLine(err))
	var usage *usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gorxe",
		Short: "An RDMA NIC made of software: RoCEv2 in user space",
		Long: `gorxe is an RDMA NIC made of software: the RoCEv2 transport in user space, with no
kernel module and no privileges. Real RNICs and Linux rdma_rxe can be on the other end.`,
		Example: `  gorxe demo                        two software RNICs talk, and you see every packet
  gorxe devinfo -d eth0             what a device on eth0 would look like
  gorxe pingpong rc 192.0.2.7       against ibv_rc_pingpong, or gorxe, on another host
  gorxe perf write_bw 192.0.2.7     against ib_write_bw, or gorxe, on another host
  gorxe daemon                      be the RNIC of this host`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Version = buildVersion() // which adds --version and -v
	root.SetVersionTemplate(versionLine())
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s; see '%s --help'", flagProblem(err), c.CommandPath())
	})
	for _, c := range a.commands {
		root.AddCommand(c(a))
	}
	root.AddCommand(versionCommand(a))
	addCompletions(root)
	return root
}
