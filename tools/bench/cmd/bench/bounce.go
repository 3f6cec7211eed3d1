package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/gorxe/gorxe/tools/bench/bounce"
)

// Names of the commands that run the device of an end of the bare loop, and its program, which
// the device starts.
const (
	bounceName        = "bounce"
	bounceProgramName = "bounce-program"
)

// runBounce measures the bare loop with the given host and prints the result as JSON, or serves
// one client.
func runBounce(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg := bounce.Config{}
	fs := flag.NewFlagSet(bounceName, flag.ContinueOnError)
	fs.SetOutput(stderr)
	port := fs.Uint("p", 18517, "TCP `port` on which the ends meet")
	fs.StringVar((*string)(&cfg.Way), "way", string(bounce.Events),
		"what device and program do for a message: datagrams, process, trap, events, polling, sends or sends-polling")
	fs.IntVar(&cfg.Messages, "n", 10_000, "number of measured `messages`")
	fs.IntVar(&cfg.Warm, "warm", 100, "number of `messages` before the measured ones")
	if err := fs.Parse(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the file of this program, to run it as the program of a device: %w", err)
	}
	program := []string{self, bounceProgramName}
	at := strconv.FormatUint(uint64(*port), 10)
	switch fs.NArg() {
	case 0:
		err = serveBounce(ctx, ":"+at, program)
	case 1:
		var r bounce.Result
		if r, err = callBounce(ctx, net.JoinHostPort(fs.Arg(0), at), cfg, program); err == nil {
			return json.NewEncoder(stdout).Encode(r)
		}
	default:
		err = errors.New("name one host, behind the flags")
	}
	if err != nil {
		return fmt.Errorf("bounce: %w", err)
	}
	return nil
}

func serveBounce(ctx context.Context, addr string, program []string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening on TCP port %s: %w", addr, err)
	}
	defer l.Close()
	return bounce.Serve(ctx, l, program)
}

func callBounce(ctx context.Context, addr string, cfg bounce.Config, program []string) (bounce.Result, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return bounce.Result{}, err
	}
	return bounce.Call(ctx, conn, cfg, program)
}
