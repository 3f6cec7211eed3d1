//go:build !linux

package conform

import (
	"context"
	"errors"
	"io"
)

// tester is what the process in the network namespace of the cable does.
type tester struct {
	Cable    string
	IP, Argv []string
}

const tap = "tester0"

var errLinux = errors.New("the lab needs a Linux host")

func (t *tester) run(context.Context, io.Writer, io.Writer) error { return errLinux }

// RunTester is for Linux only.
func RunTester(string) int { return 1 }
