//go:build linux && (amd64 || arm64)

package keeper

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// sigaction is struct sigaction of the kernel. Architectures differ only in what follows the
// mask.
type sigaction struct {
	handler, flags, restorer, mask uint64
}

const sigIgn = 1

// lastSignal is the highest signal number.
const lastSignal = 64

// Ignored returns the signals that this process ignores: bit n-1 for signal n. The Go runtime has
// already replaced the inherited disposition of most signals with its own handlers. Of the signals
// that end a process, only SIGHUP, SIGINT and those that the runtime does not handle are still
// ignored if this process was started with them ignored. A shell without job control ignores both
// SIGINT and SIGQUIT in background commands (POSIX, "Asynchronous Lists"), so Ignored reports
// SIGQUIT if SIGINT is ignored.
func Ignored() uint64 {
	var out uint64
	for n := range lastSignal {
		var a sigaction
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n+1), 0,
			uintptr(unsafe.Pointer(&a)), 8, 0, 0)
		if errno == 0 && a.handler == sigIgn {
			out |= 1 << n
		}
	}
	if out&bit(syscall.SIGINT) != 0 {
		out |= bit(syscall.SIGQUIT)
	}
	return out
}

func bit(s syscall.Signal) uint64 { return 1 << (s - 1) }

// ignoreInProgram makes the program begin with these signals ignored: bit n-1 for signal n.
func ignoreInProgram(ignored uint64) {
	for n := range lastSignal {
		if ignored&(1<<n) != 0 {
			signal.Ignore(syscall.Signal(n + 1))
		}
	}
}

// stops are the signals that stop a process. The Go runtime does not handle them, so a program
// inherits that they are ignored.
var stops = []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// notIgnored are the signals that ignoreSignals leaves unchanged: those of processor faults, those
// that the Go runtime uses or sets up for C libraries (32 to 34), SIGCHLD, SIGCONT, and SIGKILL and
// SIGSTOP, which cannot be ignored.
var notIgnored = bit(syscall.SIGILL) | bit(syscall.SIGTRAP) | bit(syscall.SIGBUS) | bit(syscall.SIGFPE) |
	bit(syscall.SIGSEGV) | bit(syscall.SIGSTKFLT) | bit(syscall.SIGSYS) | bit(syscall.SIGURG) |
	bit(syscall.SIGKILL) | bit(syscall.SIGSTOP) | bit(syscall.SIGCHLD) | bit(syscall.SIGCONT) |
	1<<(32-1) | 1<<(33-1) | 1<<(34-1)

// ignoreSignals makes this process ignore the signals that would end it. A program that is
// started later does not inherit that: this function bypasses the Go runtime, which therefore
// resets these signals to their default in a child, like those that it handles.
func ignoreSignals() {
	skip := notIgnored
	for _, s := range stops {
		skip |= bit(s)
	}
	for n := range lastSignal {
		if skip&(1<<n) == 0 {
			ignore(syscall.Signal(n + 1))
		}
	}
}

// ignoreStops makes this process ignore the signals that would stop it, so it notices the end of
// the supervisor and may write to the terminal.
func ignoreStops() {
	for _, s := range stops {
		ignore(s)
	}
}

func ignore(s syscall.Signal) {
	a := sigaction{handler: sigIgn}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&a)), 0, 8, 0, 0)
}
