package trap

import (
	"errors"
	"fmt"
)

var (
	// ErrUnsupported says that this platform has no seccomp user notification.
	ErrUnsupported = errors.New("trap: only Linux on amd64 and arm64 can run programs under gorxe")
	// ErrNested says that a seccomp listener already answers for this process (EBUSY): gorxe
	// run inside gorxe run, or a container runtime with a listener of its own.
	ErrNested = errors.New("trap: this process already runs under a seccomp listener; " +
		"inside gorxe run, start the program directly")
	// ErrOldKernel says that the kernel lacks a seccomp feature (ENOSYS or EINVAL).
	ErrOldKernel = errors.New("trap: the kernel lacks seccomp user notification with " +
		"WAIT_KILLABLE_RECV; Linux 5.19 or newer is required")
	// ErrDenied says that a security policy forbids to install a filter (EACCES or EPERM).
	ErrDenied = errors.New("trap: a security policy forbids seccomp filters with a listener; " +
		"allow the seccomp system call in the container's profile")
	// ErrForeignMemory says that this process may not read the memory or descriptors of its
	// children.
	ErrForeignMemory = errors.New("trap: this process may not access its children; " +
		"check /proc/sys/kernel/yama/ptrace_scope (2 needs CAP_SYS_PTRACE) and that /proc is mounted")
	// ErrFewDescriptors says that the soft limit of descriptors leaves no room for reserved ones.
	ErrFewDescriptors = errors.New("trap: the soft limit of open files (ulimit -n) is below 32")

	// ErrKeeper says that the keeper of a program was killed, so the program and its descendants were
	// killed too.
	ErrKeeper = errors.New("trap: the process gorxe-keeper was killed, " +
		"so the program and everything it started were killed")

	// ErrGone says that the calling thread does not wait for the answer any more: it was killed.
	ErrGone = errors.New("trap: the caller is gone")
	// ErrAnswered says that the call already has an answer.
	ErrAnswered = errors.New("trap: the call is already answered")
	// ErrInterrupted says that the calling thread has a signal to handle first.
	ErrInterrupted = errors.New("trap: the caller has a pending signal")
	// ErrNotInterrupted says that the calling thread has no signal to handle.
	ErrNotInterrupted = errors.New("trap: the caller has no pending signal")
)

// ExecError says that the program could not be executed. Err is the error of execve.
type ExecError struct {
	Path string
	Err  error
}

func (e *ExecError) Error() string { return fmt.Sprintf("trap: cannot execute %s: %v", e.Path, e.Err) }

// Unwrap returns the error of execve.
func (e *ExecError) Unwrap() error { return e.Err }
