package bounce

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Raw system calls, which the Go runtime does not notice. The thread that makes them has all
// signals blocked (see withoutSignals), so none ends with EINTR.

// pollRaw waits until a descriptor is ready and returns how many are: 0 after the time to wait,
// or after a signal if the thread has not blocked signals.
func pollRaw(fds []unix.PollFd, wait time.Duration) (int, error) {
	left := unix.NsecToTimespec(wait.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&left)), 0, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("waiting for a message: ppoll: %w", errno)
}

// recvRaw receives a datagram of 8 bytes; ok is false if there was none in time, or one of
// another length.
func recvRaw(fd, flags int) (word uint64, ok bool, err error) {
	var b [16]byte
	n, err := recvBytes(fd, b[:], flags)
	return binary.BigEndian.Uint64(b[:]), n == 8, err
}

// sendRaw sends a datagram of 8 bytes.
func sendRaw(fd int, word uint64) error {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], word)
	return sendBytes(fd, b[:])
}

// recvBytes receives a datagram and returns its length, 0 if there was none.
func recvBytes(fd int, b []byte, flags int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		uintptr(flags), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR, unix.ECONNREFUSED: // the TCP connection reports the reason
		return 0, nil
	}
	return 0, fmt.Errorf("receiving a datagram: %w", errno)
}

// sendBytes sends a datagram or a train. It is lost if the kernel has no buffer space.
func sendBytes(fd int, b []byte) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		0, 0, 0)
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ENOBUFS, unix.ECONNREFUSED:
		return nil
	}
	return fmt.Errorf("sending a datagram: %w", errno)
}

// readRaw reads up to len(b) bytes; if the descriptor is blocking, it waits for the first.
func readRaw(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// writeWord writes 8 bytes to a pipe.
func writeWord(fd int, word uint64) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&word)), unsafe.Sizeof(word))
	return errno
}

// storeWord writes 8 bytes to the beginning of a file.
func storeWord(fd int, word uint64) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(&word)), unsafe.Sizeof(word),
		0, 0, 0)
	return errno
}

// ioctlRaw makes an ioctl with an argument in memory.
func ioctlRaw(fd int, cmd uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), cmd, uintptr(arg))
	return errno
}

// withoutSignals blocks all signals for the thread of this goroutine, which must be locked to it.
// The runtime's preemption signals, sent to a goroutine that has run for 10 ms, would interrupt
// its system calls.
func withoutSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		return fmt.Errorf("blocking the signals of a thread: %w", err)
	}
	return nil
}

// onThread runs f on a thread of its own, which ends with f.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}
