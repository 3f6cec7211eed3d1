// Command gorxe is a software RDMA NIC; see package internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gorxe/gorxe/internal/cli"
	// sysmon executes some subcommands again with another environment. It must run before most
	// packages are initialized.
	_ "github.com/gorxe/gorxe/internal/host/sysmon"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program immediately
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
