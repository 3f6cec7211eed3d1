//go:build !linux

package session

import (
	"runtime"
	"time"
)

// Yield yields to other goroutines.
func Yield() { runtime.Gosched() }

// ShortSleep sleeps for the shortest time that the system supports.
func ShortSleep() { time.Sleep(50 * time.Microsecond) }
