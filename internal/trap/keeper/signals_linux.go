//go:build linux && (amd64 || arm64)

package keeper

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// sigaction is struct sigaction of the kernel, whose length differs between architectures only in
// what follows the mask.
type sigaction struct {
	handler, flags, restorer, mask uint64
}

const sigIgn = 1

// lastSignal is the highest number of a signal.
const lastSignal = 64

// Ignored returns the signals that this process ignores: bit n-1 for signal n. The Go runtime has
// replaced the inherited disposition of most signals with its own handlers before anything can look:
// of the signals that end a process, only SIGHUP, SIGINT and those without a handler of the runtime
// are still ignored if they were. A shell without job control ignores SIGINT and SIGQUIT together in
// what it starts in the background (POSIX, "Asynchronous Lists"), so SIGQUIT is taken for ignored with
// SIGINT.
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

// ignoreInProgram lets the program begin with signals ignored.
func ignoreInProgram(ignored uint64) {
	for n := range lastSignal {
		if ignored&(1<<n) != 0 {
			signal.Ignore(syscall.Signal(n + 1))
		}
	}
}

// Signals that the Go runtime does not handle, so that a program would inherit that they are ignored.
// They stop a process.
var stops = []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// needed are signals that the Go runtime of the keeper or the kernel's faults use, or that cannot be
// ignored.
var needed = bit(syscall.SIGILL) | bit(syscall.SIGTRAP) | bit(syscall.SIGBUS) | bit(syscall.SIGFPE) |
	bit(syscall.SIGSEGV) | bit(syscall.SIGSTKFLT) | bit(syscall.SIGSYS) | bit(syscall.SIGURG) |
	bit(syscall.SIGKILL) | bit(syscall.SIGSTOP) | bit(syscall.SIGCHLD) | bit(syscall.SIGCONT) |
	1<<(32-1) | 1<<(33-1) | 1<<(34-1)

// ignoreSignals lets this process ignore the signals that would end it. A program that is started
// afterwards does not inherit that: the Go runtime sets signals that it handles, as it believes, to
// their default in a child.
func ignoreSignals() {
	skip := needed
	for _, s := range stops {
		skip |= bit(s)
	}
	for n := range lastSignal {
		if skip&(1<<n) == 0 {
			ignore(syscall.Signal(n + 1))
		}
	}
}

// ignoreStops lets this process ignore the signals that would stop it, so that it notices the end of
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
