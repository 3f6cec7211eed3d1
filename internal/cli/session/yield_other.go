//go:build !linux

package session

import (
	"runtime"
	"time"
)

// Yield lets other goroutines run.
func Yield() { runtime.Gosched() }

// Doze sleeps as shortly as the system lets it.
func Doze() { time.Sleep(50 * time.Microsecond) }
