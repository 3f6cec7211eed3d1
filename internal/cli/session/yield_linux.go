package session

import (
	"runtime"
	"syscall"
	"time"
)

// Yield lets others run: goroutines of this process, and on a machine with few cores the thread that receives.
func Yield() {
	runtime.Gosched()
	syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}

// Doze sleeps for a fraction of a millisecond, which time.Sleep does not: an idle Go program wakes for its timers in whole
// milliseconds.
func Doze() {
	ts := syscall.NsecToTimespec(int64(50 * time.Microsecond))
	_ = syscall.Nanosleep(&ts, nil)
}
