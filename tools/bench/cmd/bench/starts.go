package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/gorxe/gorxe/tools/bench"
)

// startsName is the command that starts a program repeatedly.
const startsName = "starts"

// runStarts starts a program repeatedly and prints the median time from its start to its end as
// JSON.
func runStarts(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet(startsName, flag.ContinueOnError)
	fs.SetOutput(stderr)
	during := fs.Duration("time", 2*time.Second, "`duration` for which the program is started repeatedly")
	anyStatus := fs.Bool("any-status", false, "the program may fail")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return errors.New("starts: name the program, behind the flags")
	}
	s, err := bench.TimeRuns(ctx, fs.Args(), *during, *anyStatus)
	if err != nil {
		return fmt.Errorf("starts: %w", err)
	}
	return json.NewEncoder(stdout).Encode(s)
}
