package trap

import (
	"errors"
	"fmt"
)

var (
	// ErrUnsupported reports that this platform has no seccomp user notification.
	ErrUnsupported = errors.New("trap: only Linux on amd64 and arm64 can run programs under gorxe")
	// ErrNested reports that another seccomp listener already receives the calls of this process
	// (EBUSY): gorxe run inside gorxe run, or a container runtime with its own listener.
	ErrNested = errors.New("trap: this process already runs under a seccomp listener; " +
		"inside gorxe run, start the program directly")
	// ErrOldKernel reports that the kernel lacks a seccomp feature (ENOSYS or EINVAL).
	ErrOldKernel = errors.New("trap: the kernel lacks seccomp user notification with " +
		"WAIT_KILLABLE_RECV; Linux 5.19 or newer is required")
	// ErrDenied reports that a security policy forbids the installation of a filter (EACCES or
	// EPERM).
	ErrDenied = errors.New("trap: a security policy forbids seccomp filters with a listener; " +
		"allow the seccomp system call in the container's profile")
	// ErrForeignMemory reports that this process may not read the memory or the descriptors of
	// its children.
	ErrForeignMemory = errors.New("trap: this process may not access its children; " +
		"check /proc/sys/kernel/yama/ptrace_scope (2 needs CAP_SYS_PTRACE) and that /proc is mounted")
	// ErrFewDescriptors reports that the soft limit of descriptors is too low to reserve numbers.
	ErrFewDescriptors = errors.New("trap: the soft limit of open files (ulimit -n) is below 32")

	// ErrKeeper reports that the keeper of a program was killed, and with it the program and its
	// descendants.
	ErrKeeper = errors.New("trap: the process gorxe-keeper was killed, " +
		"so the program and everything it started were killed")

	// ErrGone reports that the calling thread no longer waits for the answer: it was killed.
	ErrGone = errors.New("trap: the caller is gone")
	// ErrAnswered reports that the call already has an answer.
	ErrAnswered = errors.New("trap: the call is already answered")
	// ErrInterrupted reports that the calling thread has a signal to handle first.
	ErrInterrupted = errors.New("trap: the caller has a pending signal")
	// ErrNotInterrupted reports that the calling thread has no signal to handle.
	ErrNotInterrupted = errors.New("trap: the caller has no pending signal")
)

// ExecError reports that the program could not be executed. Err is the error of execve.
type ExecError struct {
	Path string
	Err  error
}

func (e *ExecError) Error() string { return fmt.Sprintf("trap: cannot execute %s: %v", e.Path, e.Err) }

// Unwrap returns the error of execve.
func (e *ExecError) Unwrap() error { return e.Err }
