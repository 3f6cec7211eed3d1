// Command gorxe is an RDMA NIC made of software; see package internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gorxe/gorxe/internal/cli"
	_ "github.com/gorxe/gorxe/internal/host/sysmon" // starts some commands anew, before most packages are initialized
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
