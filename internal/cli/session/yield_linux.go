package session

import (
	"runtime"
	"syscall"
	"time"
)

// Yield yields to other goroutines of this process and, on a machine with few cores, to the
// thread that receives.
func Yield() {
	runtime.Gosched()
	syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}

// ShortSleep sleeps for a fraction of a millisecond. time.Sleep cannot: an idle Go program wakes
// for its timers in whole milliseconds.
func ShortSleep() {
	ts := syscall.NsecToTimespec(int64(50 * time.Microsecond))
	_ = syscall.Nanosleep(&ts, nil)
}
