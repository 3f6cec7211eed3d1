//go:build linux && (amd64 || arm64)

package trap

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// helperName is argv[0] of the helper, the process that [Start] makes of this program.
const helperName = "gorxe-trap-helper"

// helperArgs is the format of argv[1]: socket, and reserved descriptors.
const helperArgs = "%d,%d,%d,%d,%d"

// Messages of the helper: one byte, then an errno in 4 bytes, little-endian. The listener comes
// as SCM_RIGHTS with msgListener. No message after that one means that execve succeeded.
const (
	msgListener = 'l'
	msgFilter   = 'f' // the filter was not installed
	msgExec     = 'x' // execve failed
	msgUsage    = 'u' // arguments of the helper are wrong
)

// HelperMain does the helper's work if this process is a helper, and does not return then. The
// main function of every program that calls [Start] calls it before anything else.
//
// The helper installs the filter on its own thread, passes the listener to its parent and
// executes the program; the other threads end in execve, so they need no filter.
func HelperMain() {
	if len(os.Args) == 0 || os.Args[0] != helperName {
		return
	}
	runtime.LockOSThread()
	var fd int
	var d Descriptors
	if len(os.Args) < 4 {
		os.Exit(126)
	}
	_, err := fmt.Sscanf(os.Args[1], helperArgs, &fd, &d.Lo, &d.Hi, &d.Channel, &d.WriteLo)
	if err != nil {
		os.Exit(126)
	}
	unix.CloseOnExec(fd)
	// Later calls on this thread must not be trapped before the parent answers: from here on
	// there are only sendmsg, close and execve.
	l, kind, errno := installFilter(d)
	if errno != 0 {
		helperFails(fd, kind, errno)
	}
	rights := unix.UnixRights(l)
	if err := unix.Sendmsg(fd, message(msgListener, 0), rights, nil, 0); err != nil {
		os.Exit(126)
	}
	_ = unix.Close(l)
	err = syscall.Exec(os.Args[2], os.Args[3:], os.Environ())
	errno, _ = err.(syscall.Errno)
	helperFails(fd, msgExec, errno)
}

// installFilter puts the calling thread under the filter and returns the listener.
func installFilter(d Descriptors) (fd int, kind byte, errno syscall.Errno) {
	code, err := assemble(d)
	if err != nil || !d.valid() {
		return 0, msgUsage, syscall.EINVAL
	}
	fd, errno = seccompListener(code)
	return fd, msgFilter, errno
}

// seccompListener installs a filter with a listener on the calling thread, for good. Privileges
// of set-user-ID programs are given up, which is what allows an ordinary user to do so.
func seccompListener(code []unix.SockFilter) (int, syscall.Errno) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		errno, _ := err.(syscall.Errno)
		return 0, errno
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	return int(fd), errno
}

func helperFails(fd int, kind byte, errno syscall.Errno) {
	_ = unix.Sendmsg(fd, message(kind, errno), nil, nil, 0)
	os.Exit(126)
}

func message(kind byte, errno syscall.Errno) []byte {
	return binary.LittleEndian.AppendUint32([]byte{kind}, uint32(errno))
}

// filterError is the error for an errno of seccomp(2).
func filterError(errno syscall.Errno) error {
	var known error
	switch errno {
	case 0:
		return nil
	case unix.EBUSY:
		known = ErrNested
	case unix.ENOSYS, unix.EINVAL:
		known = ErrOldKernel
	case unix.EACCES, unix.EPERM:
		known = ErrDenied
	default:
		return fmt.Errorf("trap: cannot install the seccomp filter: %w", errno)
	}
	return fmt.Errorf("%w (seccomp: %w)", known, errno)
}

// parseMessage returns the listener in a message of the helper, or the error that it tells.
func parseMessage(c *Command, p, oob []byte) (listener int, err error) {
	if len(p) != 5 {
		return -1, fmt.Errorf("trap: the helper ended before it started %s; "+
			"does main call trap.HelperMain first?", c.Path)
	}
	errno := syscall.Errno(binary.LittleEndian.Uint32(p[1:]))
	switch p[0] {
	case msgExec:
		return -1, &ExecError{Path: c.Path, Err: errno}
	case msgFilter:
		return -1, filterError(errno)
	case msgUsage:
		return -1, fmt.Errorf("trap: reserved descriptors %+v are not usable", c.Descriptors)
	}
	cmsgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(cmsgs) != 1 {
		return -1, fmt.Errorf("trap: the helper sent no listener: %w", err)
	}
	fds, err := unix.ParseUnixRights(&cmsgs[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("trap: the helper sent no listener: %w", err)
	}
	return fds[0], nil
}
