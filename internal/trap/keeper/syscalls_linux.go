//go:build linux && (amd64 || arm64)

package keeper

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers that package syscall lacks. golang.org/x/sys/unix would be initialized after the
// keeper's init function.
const (
	prSetSubreaper  = 36
	prSetNoNewPrivs = 38

	seccompFilter       = 1
	seccompNewListener  = 1 << 3
	seccompWaitKillable = 1 << 5

	sysPidfdSignal = 424
	sysPidfdOpen   = 434

	instructionSize = 8 // size of struct sock_filter
)

func sysSeccomp() uintptr {
	if runtime.GOARCH == "arm64" {
		return 277
	}
	return 317
}

// errnoOf returns the errno of an error of package syscall, EIO for other errors.
func errnoOf(err error) syscall.Errno {
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EIO
}

// Install installs a filter with a listener on the calling thread and returns the listener. A
// filter cannot be removed. Install also sets no_new_privs: set-user-ID programs then gain no
// privileges, and an unprivileged user may install a filter.
func Install(filter []byte) (listener int, errno syscall.Errno) {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return -1, errno
	}
	prog := struct {
		len   uint16
		first *byte
	}{uint16(len(filter) / instructionSize), &filter[0]}
	fd, _, errno := syscall.RawSyscall(sysSeccomp(), seccompFilter, seccompNewListener|seccompWaitKillable,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	return int(fd), errno
}

// adoptOrphans makes this process the subreaper of its descendants.
func adoptOrphans() error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSubreaper, 1, 0, 0, 0, 0)
	return errnoOrNil(errno)
}

func errnoOrNil(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// poll waits for readable descriptors for at most ms milliseconds, without limit if ms is
// negative.
func poll(fds []pollFD, ms int) (int, error) {
	var limit *syscall.Timespec
	if ms >= 0 {
		t := syscall.NsecToTimespec(int64(ms) * 1e6)
		limit = &t
	}
	for {
		n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))),
			uintptr(len(fds)), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
		if errno != syscall.EINTR {
			return int(n), errnoOrNil(errno)
		}
	}
}

// pollFD is struct pollfd.
type pollFD struct {
	fd              int32
	events, revents int16
}

const pollIn = 1

func pidfdOpen(pid int) (int, error) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	return int(fd), errnoOrNil(errno)
}

func pidfdKill(fd int) error {
	_, _, errno := syscall.Syscall6(sysPidfdSignal, uintptr(fd), uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	return errnoOrNil(errno)
}
