//go:build !linux

package cli

import "runtime"

// yield lets other goroutines run.
func yield() { runtime.Gosched() }
