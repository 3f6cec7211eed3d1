// Command tracegen writes a capture of RoCEv2 traffic of any size to standard output:
//
//	go run ./tools/tracegen -size 10G -qps 10000 -loss 1e-4 | gorxe trace --summary -
//
// The capture is a pcap with nanosecond times and Ethernet frames. It has reliable connections
// between random pairs of hosts with WRITEs, SENDs and READs; requests are lost before the capture
// point, and answered with sequence NAKs and go-back-N, or repeated after a timeout. Some request
// packets have an ECN mark, which is answered with a CNP. All ICRCs are right. The same flags
// produce the same bytes.
//
// -scene writes a capture of docs/learn instead: a simulation of hosts that are connected to one
// switch, with DCQCN, RNR NAKs and losses.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tracegen:", err)
		os.Exit(1)
	}
}

// run writes the capture that args describe to out.
func run(args []string, out, messages io.Writer) error {
	fs := flag.NewFlagSet("tracegen", flag.ContinueOnError)
	fs.SetOutput(messages)
	p := defaults
	size := fs.String("size", "100M", "`bytes` of the capture, with k, M or G (powers of 10)")
	fs.IntVar(&p.queuePairs, "qps", p.queuePairs, "`number` of connections")
	fs.IntVar(&p.hosts, "hosts", p.hosts, "`number` of hosts")
	fs.IntVar(&p.mtu, "mtu", p.mtu, "path MTU in `bytes`: 256, 512, 1024, 2048 or 4096")
	fs.IntVar(&p.message, "message", p.message, "maximum length of a message in `bytes`")
	fs.IntVar(&p.snap, "snap", p.snap, "capture at most `bytes` of each frame; 0: all")
	fs.Float64Var(&p.loss, "loss", p.loss, "`probability` that a request packet is lost")
	fs.Float64Var(&p.mark, "ce", p.mark, "`probability` that a request packet has an ECN mark")
	fs.Uint64Var(&p.seed, "seed", p.seed, "`number` that selects one of the possible captures")
	scene := fs.String("scene", "", "write a small capture of docs/learn instead: congestion or cluster")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	n, err := parseSize(*size)
	if err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	write := func() error { return newGenerator(p).write(w, n) }
	if *scene != "" {
		write = func() error { return writeScene(w, *scene) }
	}
	err = errors.Join(write(), w.Flush())
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader has enough
	}
	return err
}

// parseSize parses a number of bytes with an optional unit k, M or G.
func parseSize(s string) (int64, error) {
	digits, unit := s, int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			digits, unit = rest, u.bytes
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > 1<<62/unit {
		return 0, fmt.Errorf("-size %q: give a number of bytes such as 500k, 10M or 10G", s)
	}
	return n * unit, nil
}
