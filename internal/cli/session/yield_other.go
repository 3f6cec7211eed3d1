//go:build !linux

package session

import (
	"runtime"
	"time"
)

// Yield yields to other goroutines.
func Yield() { runtime.Gosched() }

// Doze sleeps for the shortest time that the system supports.
func Doze() { time.Sleep(50 * time.Microsecond) }
