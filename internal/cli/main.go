package cli

import (
	"context"
	"io"
	"net"
	"os"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/cmtool"
	"github.com/gorxe/gorxe/internal/cli/conformcmd"
	"github.com/gorxe/gorxe/internal/cli/daemoncmd"
	"github.com/gorxe/gorxe/internal/cli/demo"
	"github.com/gorxe/gorxe/internal/cli/devinfo"
	"github.com/gorxe/gorxe/internal/cli/doctor"
	"github.com/gorxe/gorxe/internal/cli/extcapcmd"
	"github.com/gorxe/gorxe/internal/cli/perf"
	"github.com/gorxe/gorxe/internal/cli/pingpong"
	"github.com/gorxe/gorxe/internal/cli/regioncmd"
	"github.com/gorxe/gorxe/internal/cli/rpingcmd"
	"github.com/gorxe/gorxe/internal/cli/runcmd"
	"github.com/gorxe/gorxe/internal/cli/topcmd"
	"github.com/gorxe/gorxe/internal/cli/tracecmd"
	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace/live"
	"github.com/gorxe/gorxe/verbs"
)

// Main runs the command line args, without the program's name, until it ends or ctx is done, and
// returns the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app.App{
		Stdin: os.Stdin, Stdout: stdout, Stderr: stderr, Terminal: app.IsTerminal, Open: verbs.Open,
		Addrs: packet.HostAddrs, TCP: app.HostTCP{},
		Host: daemon.ThisHost(), Control: findControl, Live: openLive, Commands: commands,
	}
	return a.Main(ctx, args)
}

// commands are the subcommands of the program.
var commands = append([]app.Command{
	cmtool.Command, conformcmd.Command, demo.Command, doctor.Command, runcmd.Command, devinfo.Command, pingpong.Command,
	perf.Command, rpingcmd.Command, regioncmd.Command, daemoncmd.Command, runcmd.StartCommand, tracecmd.Command,
	topcmd.Command, extcapcmd.Command,
}, daemoncmd.InspectCommands...)

// findControl returns a client of the daemon at a socket. An empty socket selects the one
// that [control.FindSocket] finds.
func findControl(socket string) *control.Client {
	if socket == "" {
		var err error
		if socket, err = control.FindSocket(); err != nil {
			return control.NewClient(socket, func(context.Context) (net.Conn, error) { return nil, err })
		}
	}
	return control.NewClient(socket, nil)
}

// openLive starts a capture. idle is called before each wait for a frame.
func openLive(iface string, idle func()) (app.LiveCapture, error) { return live.Open(iface, idle) }
