// Bench compares the performance of gorxe with that of alternatives, on one path and in one run:
// bandwidth with iperf3 and bare UDP, latency with qperf, message rate, many queue pairs, goodput
// under loss; perftest programs under gorxe run with gorxe perf and the bare loop, and on one
// host with iperf3. It creates two network namespaces and a veth pair, binds each end to one
// core, and measures each contender once per round, in rotating order. The results to compare are
// medians and ratios. It needs root and Linux; contenders whose program (iperf3, qperf, perftest)
// is not installed are left out.
//
//	make build
//	go run ./tools/bench/cmd/bench                                  all of it, some 40 minutes
//	go run ./tools/bench/cmd/bench -run 'bandwidth|latency' -rounds 3
//	go run ./tools/bench/cmd/bench -run bandwidth -beside before=/tmp/gorxe
//	go run ./tools/bench/cmd/bench -beside before=/tmp/gorxe -slice 50ms   both at once, in turn
//	go run ./tools/bench/cmd/bench -run bandwidth -slice 50ms   the same, of each ratio
//	go run ./tools/bench/cmd/bench -json r.json -doc docs/performance.md
//	go run ./tools/bench/cmd/bench -render r.json -doc p.md         report of earlier runs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/gorxe/gorxe/tools/bench"
	"github.com/gorxe/gorxe/tools/bench/bounce"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run runs the program. The first argument may be a command that the measurements start at the
// ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case blastName:
			return runBlast(ctx, args[1:], stdout, stderr)
		case bounceName:
			return runBounce(ctx, args[1:], stdout, stderr)
		case bounceProgramName:
			return bounce.Program(args[1:])
		case startsName:
			return runStarts(ctx, args[1:], stdout, stderr)
		case busyName:
			return runBusy(ctx, args[1:])
		}
	}
	p, err := parse(args, stderr)
	if err != nil {
		return err
	}
	switch {
	case p.render != "":
		f, err := os.Open(p.render)
		if err != nil {
			return err
		}
		defer f.Close()
		r, err := bench.ReadReport(f)
		if err != nil {
			return fmt.Errorf("%s: %w", p.render, err)
		}
		return p.report(stdout, r)
	case p.list:
		for _, c := range p.contests {
			fmt.Fprintf(stdout, "%s, in %s\n", c.Title, c.Metric)
			for _, d := range c.Contenders {
				fmt.Fprintf(stdout, "  %s/%s\n", c.Name, d.Name)
			}
		}
		return nil
	}
	return p.measure(ctx, stdout, stderr)
}

// measure measures the contests and reports the results.
func (p *params) measure(ctx context.Context, stdout, stderr io.Writer) error {
	if err := p.findGorxe(); err != nil {
		return err
	}
	if p.profiles != "" {
		if err := os.MkdirAll(p.profiles, 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the file of this program, to run it at both ends: %w", err)
	}
	o := bench.Options{
		Gorxe: p.gorxe, Bench: self, Contests: p.contests, Rounds: p.rounds, Seconds: p.seconds,
		Cores: p.cores, PerEnd: p.perEnd, Again: p.again, Profiles: p.profiles,
		Progress: func(s bench.Sample, n, all int) { fmt.Fprintf(stderr, "[%d/%d] %s\n", n, all, s.Line()) },
		LeftOut: func(l bench.Left) {
			fmt.Fprintf(stderr, "left out: %s (%s): %s\n", l.Contender, l.Contest, l.Why)
		},
	}
	measure := bench.Run
	if p.slice > 0 {
		measure = func(ctx context.Context, o bench.Options) (*bench.Report, error) {
			return bench.RunInSlices(ctx, o, p.slice)
		}
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	if p.revision != "" {
		r.Machine.Revision = p.revision
	}
	return p.report(stdout, r)
}

// report prints a report, or writes it to the files named on the command line.
func (p *params) report(stdout io.Writer, r *bench.Report) error {
	if err := r.WriteFiles(p.json, p.doc); err != nil || p.doc != "" {
		return err
	}
	return r.Markdown(stdout, "")
}
