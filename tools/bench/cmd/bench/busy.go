package main

import (
	"context"
	"errors"
)

// busyName is the command of a busy neighbour process.
const busyName = "busy"

// runBusy computes without a pause until ctx ends.
func runBusy(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return errors.New("busy: it takes no arguments")
	}
	for ctx.Err() == nil {
	}
	return nil
}
