package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace/text"
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
}

// Main runs the command line args (without the program's name) until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{stdin: os.Stdin, stdout: stdout, stderr: stderr, terminal: isTerminal, open: verbs.Open, addrs: packet.HostAddrs, tcp: hostTCP{}, host: daemon.ThisHost(), control: findControl, live: openLive}
	return a.main(ctx, args)
}

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

// oneLine returns the text of err as one line that is safe to print, without the names of packages that
// the reader need not know.
func oneLine(err error) string {
	message := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	for _, name := range []string{"capture: ", "packet: ", "engine: ", "transport: ", "qp: ", "mr: ", "cm: "} {
		message = strings.ReplaceAll(strings.TrimPrefix(message, name), ": "+name, ": ")
	}
	return text.Plain(message)
}

// finalError is an error that an interruption has not caused, and does not excuse.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// usageError is a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

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
	root.AddCommand(a.benchCommand(), a.cmCommand(), a.demoCommand(), a.devinfoCommand(), a.pingpongCommand(), a.perfCommand(), a.rpingCommand(), a.regionCommand(), a.daemonCommand(),
		a.statusCommand(), a.qpsCommand(), a.mrsCommand(), a.cmsCommand(), a.statsCommand(), a.loglevelCommand(), a.traceCommand(), a.versionCommand())
	addCompletions(root)
	return root
}

// flagProblem says in a user's words what pflag found wrong.
func flagProblem(err error) string {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		f := value.GetFlag()
		if _, ok := f.Value.(interface{ Explains() }); ok {
			return flagName(f) + ": " + value.Unwrap().Error()
		}
		what := "a " + f.Value.Type()
		if strings.Contains(f.Value.Type(), "int") {
			what = "a number that fits"
		} else if strings.HasPrefix(f.Value.Type(), "float") {
			what = "a number"
		}
		return fmt.Sprintf("%s %q is not %s", flagName(f), value.GetValue(), what)
	case errors.As(err, &missing):
		return flagName(missing.GetFlag()) + " needs a value"
	}
	return err.Error()
}

// flagName is how a message names a flag: its letter, if it has one.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// noArgs refuses arguments; on a command with subcommands it takes the argument for a misspelt one.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		return usagef("%s takes no argument, got %q", c.CommandPath(), args[0])
	}
	return noSuchCommand(c, args[0])
}

// noSuchCommand is the error of a command that c does not have.
func noSuchCommand(c *cobra.Command, name string) error {
	hint := ""
	c.SuggestionsMinimumDistance = 2
	if s := c.SuggestionsFor(name); len(s) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", s[0])
	}
	return usagef("there is no command %q in %s%s; see '%s --help'", name, c.CommandPath(), hint, c.CommandPath())
}

// optionalHost accepts at most one argument, the host to connect to.
func optionalHost(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one host, got %q as well", c.CommandPath(), args[1])
	}
	return nil
}

func hostArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
