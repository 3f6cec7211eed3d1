//go:build !linux

package cli

import (
	"runtime"
	"time"
)

// yield lets other goroutines run.
func yield() { runtime.Gosched() }

// doze sleeps as shortly as the system lets it.
func doze() { time.Sleep(50 * time.Microsecond) }
