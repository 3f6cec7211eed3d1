package main

import (
	"context"
	"errors"
)

// busyName is the command that is a busy neighbour of what is measured.
const busyName = "busy"

// runBusy computes without a pause until it is told to end.
func runBusy(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return errors.New("busy: it takes no arguments")
	}
	for ctx.Err() == nil {
	}
	return nil
}
