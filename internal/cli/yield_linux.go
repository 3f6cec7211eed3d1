package cli

import (
	"runtime"
	"syscall"
)

// yield lets others run: goroutines of this process, and on a machine with few cores the thread that receives.
func yield() {
	runtime.Gosched()
	syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}
