//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	pageSize  = 4096 // smallest of both architectures; only a bound for the first read
	firstRead = 256  // bytes of a path read at once; nearly all are shorter
	maxPath   = 4096 // PATH_MAX, with the terminating zero
)

// copyFrom copies memory of a thread's process. A short copy is EFAULT.
func copyFrom(tid int, addr uint64, p []byte) error { return copyMemory(tid, addr, p, false) }

// copyTo copies p into the memory of a thread's process. A short copy is EFAULT.
func copyTo(tid int, addr uint64, p []byte) error { return copyMemory(tid, addr, p, true) }

// vmRefused says that a security policy refuses process_vm_readv and process_vm_writev, as the seccomp
// profile of Docker 20.10 does, but not /proc/PID/mem, which needs the same right (ptrace(2),
// PTRACE_MODE_ATTACH).
var vmRefused atomic.Bool

func copyMemory(tid int, addr uint64, p []byte, write bool) error {
	if len(p) == 0 {
		return nil
	}
	if !vmRefused.Load() {
		n, err := copyVM(tid, addr, p, write)
		if err != unix.EPERM && err != unix.ENOSYS {
			return copyError(n, len(p), err)
		}
	}
	n, err := copyFile(tid, addr, p, write) // fails too without the right
	if err == nil {
		vmRefused.Store(true)
	}
	return copyError(n, len(p), err)
}

func copyVM(tid int, addr uint64, p []byte, write bool) (int, error) {
	local := []unix.Iovec{{Base: &p[0]}}
	local[0].SetLen(len(p))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(p)}}
	if write {
		return unix.ProcessVMWritev(tid, local, remote, 0)
	}
	return unix.ProcessVMReadv(tid, local, remote, 0)
}

// copyFile copies by /proc/TID/mem, which ignores the protection of private pages: only the program's own memory is
// changed where the kernel would return EFAULT.
func copyFile(tid int, addr uint64, p []byte, write bool) (int, error) {
	how, call := unix.O_RDONLY, unix.Pread
	if write {
		how, call = unix.O_WRONLY, unix.Pwrite
	}
	fd, err := retry(func() (int, error) { return unix.Open(fmt.Sprintf("/proc/%d/mem", tid), how|unix.O_CLOEXEC, 0) })
	switch {
	case err == unix.ENOENT:
		return 0, unix.ESRCH
	case err != nil:
		return 0, err
	}
	defer unix.Close(fd)
	n, err := retry(func() (int, error) { return call(fd, p, int64(addr)) })
	if err == unix.EIO { // nothing is mapped there
		err = unix.EFAULT
	}
	return n, err
}

func copyError(n, want int, err error) error {
	switch {
	case err == unix.ESRCH:
		return ErrGone
	case err != nil:
		return err
	case n != want:
		return unix.EFAULT
	}
	return nil
}

// readPath reads a path of at most 4095 bytes into buf, first up to the end of the page. It
// returns ENAMETOOLONG for longer ones and EFAULT for memory that cannot be read.
func readPath(tid int, addr uint64, buf *[maxPath]byte) ([]byte, error) {
	have := 0
	for have < maxPath {
		chunk := firstRead
		if have > 0 {
			chunk = maxPath - have
		}
		chunk = min(chunk, pageSize-int((addr+uint64(have))%pageSize))
		part := buf[have : have+chunk]
		if err := copyFrom(tid, addr+uint64(have), part); err != nil {
			return nil, err
		}
		if i := bytes.IndexByte(part, 0); i >= 0 {
			return buf[:have+i], nil
		}
		have += chunk
	}
	return nil, unix.ENAMETOOLONG
}

// access calls f, which accesses memory of the caller, for a worker that is in no method of the handler. That
// takes as long as the program likes, so the end of the server does not wait for it; the result is ErrGone
// then.
func (c *Call) access(f func() error) error {
	c.s.sched.leave()
	err := f()
	if !c.s.sched.comeBack() {
		return ErrGone
	}
	return err
}

// Read copies memory of the caller at addr into p. It returns EFAULT for memory that the caller
// cannot read and [ErrGone] if the caller was killed, in which case p is not to be trusted.
func (c *Call) Read(addr uint64, p []byte) error {
	return c.checked(copyFrom(c.TID(), addr, p))
}

// Write copies p into the caller's memory at addr. It returns EFAULT for memory that the caller
// cannot write and [ErrGone] if the caller was killed.
//
// A thread that waits for an answer cannot execute another program, and its number stays its
// own; Write verifies that before the copy. If the caller is killed by SIGKILL in between, the
// copy fails unless the number is taken again within that time.
func (c *Call) Write(addr uint64, p []byte) error {
	if !c.Valid() {
		return ErrGone
	}
	return c.checked(copyTo(c.TID(), addr, p))
}

// OpenMemory opens the caller's address space (/proc/PID/mem). The file is bound to it: after
// the caller executed another program or ended, reads return 0 bytes.
func (c *Call) OpenMemory() (*os.File, error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.TID()), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if !c.Valid() {
		_ = f.Close()
		return nil, ErrGone
	}
	return f, nil
}

// checked replaces the result of an access to foreign memory if the caller is gone.
func (c *Call) checked(err error) error {
	if !c.Valid() {
		return ErrGone
	}
	return err
}

// Valid reports whether the caller still waits for an answer.
func (c *Call) Valid() bool { return c.s.listener.valid(c.n.id) }
