package cli

import (
	"context"
	"io"
	"net"
	"os"

	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace/live"
	"github.com/gorxe/gorxe/verbs"
)

// Main runs the command line args (without the program's name) until it is done or ctx ends, and returns the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{
		stdin: os.Stdin, stdout: stdout, stderr: stderr, terminal: isTerminal, open: verbs.Open, addrs: packet.HostAddrs, tcp: hostTCP{},
		host: daemon.ThisHost(), control: findControl, live: openLive, commands: commands,
	}
	return a.main(ctx, args)
}

// commands are those of the program.
var commands = []command{
	benchCommand, cmCommand, demoCommand, devinfoCommand, pingpongCommand, perfCommand, rpingCommand, regionCommand, daemonCommand,
	statusCommand, qpsCommand, mrsCommand, cmsCommand, statsCommand, loglevelCommand, traceCommand,
}

// control is a client of the daemon at a socket, or at that which is found.
func findControl(socket string) *control.Client {
	if socket == "" {
		var err error
		if socket, err = control.FindSocket(); err != nil {
			return control.NewClient(socket, func(context.Context) (net.Conn, error) { return nil, err })
		}
	}
	return control.NewClient(socket, nil)
}

// openLive begins a capture; idle is called before it is waited for.
func openLive(iface string, idle func()) (liveCapture, error) { return live.Open(iface, idle) }
