// Hostile floods a device with each pattern of tools/hostile, beside a good pair, and prints how
// much throughput the good pair keeps.
//
//	go run ./tools/hostile/cmd/hostile -run dup-read -duration 2s
//
// The exit status is 1 if a bound is violated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/tools/bench/cores"
	"github.com/gorxe/gorxe/tools/hostile"
)

func main() {
	if len(os.Args) > 1 && hostile.IsRole(os.Args[1]) {
		if err := hostile.Serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "hostile %s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	ok, err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "hostile: %v\n", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run() (ok bool, err error) {
	o := hostile.Options{}
	which := flag.String("run", "", "patterns whose names match this regular expression")
	list := flag.Bool("list", false, "name the patterns, and end")
	rates := flag.String("rates", "10000,full",
		"packets per second of each pattern; full is as many as the flooder can")
	duration := flag.Duration("duration", time.Second, "`duration` of each of the three measurements of a round")
	flag.IntVar(&o.Rounds, "rounds", 3, "how often each is made, in turn")
	traffic := flag.String("traffic", string(hostile.Mixed), "of the good pair: mixed, write, read or latency")
	flag.BoolVar(&o.Local, "local", false, "on loopback, also as root")
	cores := flag.String("cores", "", "core of the victim, and that of the good peer and the flooder")
	flag.Float64Var(&o.Min, "min", 0.8, "share of its throughput that the good pair is to keep at a rate")
	flag.Float64Var(&o.MinFull, "min-full", 0.5,
		"share of it at full rate: half of the victim's processor is the flooder's")
	flag.Float64Var(&o.MaxAmplified, "max-amplified", 0,
		"bytes that the victim may send for each byte of the flood; 0 is any number")
	file := flag.String("json", "", "file for all that was measured")
	flag.Parse()

	if o.Patterns, err = hostile.Matching(*which); err != nil {
		return false, err
	}
	if *list {
		for _, p := range o.Patterns {
			fmt.Printf("%-18s %-8s  %s\n", p.Name, p.Actor, p.Description)
		}
		return true, nil
	}
	for r := range strings.SplitSeq(*rates, ",") {
		n := 0
		if r != "full" {
			if n, err = strconv.Atoi(r); err != nil || n < 1 {
				return false, fmt.Errorf("rate %q: a number of packets per second, or full", r)
			}
		}
		o.Rates = append(o.Rates, n)
	}
	o.Seconds = duration.Seconds()
	o.Traffic = hostile.Traffic(*traffic)
	if !slices.Contains([]hostile.Traffic{hostile.Mixed, hostile.Writes, hostile.Reads, hostile.Latency}, o.Traffic) {
		return false, fmt.Errorf("traffic %q: mixed, write, read or latency", *traffic)
	}
	if o.Rounds < 1 || *duration <= 0 {
		return false, fmt.Errorf("%d rounds of %v: both must be more than 0", o.Rounds, *duration)
	}
	if o.Cores, err = chooseCores(*cores); err != nil {
		return false, err
	}
	o.Progress = func(r hostile.Result) { fmt.Fprintln(os.Stderr, r.Line()) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := hostile.Run(ctx, o)
	hostile.Print(os.Stdout, &o, results)
	if *file != "" {
		b, jerr := hostile.JSON(results)
		err = errors.Join(err, jerr, os.WriteFile(*file, append(b, '\n'), 0o644))
	}
	return !slices.ContainsFunc(results, func(r hostile.Result) bool { return len(r.Broken) > 0 }), err
}

func chooseCores(text string) (out [2]int, err error) {
	var asked []int
	for c := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		n, err := strconv.Atoi(c)
		if err != nil {
			return out, fmt.Errorf("core %q: %w", c, err)
		}
		asked = append(asked, n)
	}
	if len(asked) > 2 {
		return out, fmt.Errorf("%d cores: give the victim's, and that of the good peer and the flooder", len(asked))
	}
	got, err := cores.PerEnd(asked)
	if err != nil {
		return out, err
	}
	copy(out[:], got)
	return out, nil
}
