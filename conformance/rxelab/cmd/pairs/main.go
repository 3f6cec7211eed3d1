// Command pairs runs the interoperation matrix with gorxe at both ends, on this host (make
// pairs). Runs over veth or IPv6 need root and are skipped without it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/pair"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "pairs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("pairs", flag.ContinueOnError)
	group := fs.String("group", string(cell.Core), "`part` of the matrix by what it is about: core or verbs")
	level := fs.String("level", string(cell.LevelCI), "`part` of the matrix: ci or full")
	filter := fs.String("run", "", "only runs whose name matches the regular `expression`")
	gorxe := fs.String("gorxe", "", "`program` to test (default: built from this module)")
	lanes := fs.Int("lanes", 2, "`number` of runs at a time")
	doc := fs.String("doc", "", "`file` for the report in Markdown")
	quiet := fs.Bool("q", false, "print failures only")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *lanes < 1 || *lanes > 64 {
		return fmt.Errorf("-lanes %d: want 1 to 64", *lanes)
	}
	re, err := regexp.Compile(*filter)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	pairs, err := pair.Matrix(cell.Group(*group), cell.Level(*level), re)
	if err != nil {
		return err
	}
	begin := time.Now()
	failed, skipped := 0, 0
	results, err := pair.RunAll(ctx, pairs, *gorxe, *lanes, func(r pair.Result, n int) {
		if r.Failure != "" {
			failed++
		}
		if r.Skipped != "" {
			skipped++
		}
		if !*quiet || r.Failure != "" {
			fmt.Printf("[%d/%d] %s\n", n, len(pairs), r.Line())
		}
	})
	if err != nil {
		return err
	}
	fmt.Printf("gorxe to gorxe: %d passed, %d failed, %d skipped; %v\n", len(results)-failed-skipped, failed, skipped,
		time.Since(begin).Round(time.Second))
	if *doc != "" {
		var b strings.Builder
		if err := pair.Markdown(ctx, &b, cell.Group(*group), cell.Level(*level), results,
			time.Since(begin)); err != nil {
			return err
		}
		if err := os.WriteFile(*doc, []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d runs failed", failed)
	}
	return nil
}
