//go:build !linux

package bounce

import (
	"context"
	"errors"
	"net"
)

var errLinux = errors.New("a bare loop needs Linux: inotify and seccomp")

// Serve returns an error: see the Linux version.
func Serve(context.Context, net.Listener, []string) error { return errLinux }

// Call returns an error: see the Linux version.
func Call(context.Context, net.Conn, Config, []string) (Result, error) { return Result{}, errLinux }

// Program returns an error: see the Linux version.
func Program([]string) error { return errLinux }
