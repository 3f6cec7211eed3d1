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
	pageSize  = 4096 // smallest page of both architectures; no read of a path crosses its end
	firstRead = 256  // maximum size of the first read of a path; nearly all paths are shorter
	maxPath   = 4096 // PATH_MAX, including the terminating zero
)

// copyFrom copies memory of a thread's process into p. A short copy is EFAULT.
func copyFrom(tid int, addr uint64, p []byte) error { return copyMemory(tid, addr, p, false) }

// copyTo copies p into the memory of a thread's process. A short copy is EFAULT.
func copyTo(tid int, addr uint64, p []byte) error { return copyMemory(tid, addr, p, true) }

// vmRefused is set if a security policy denies process_vm_readv and process_vm_writev, as the
// seccomp profile of Docker 20.10 does, but not /proc/PID/mem, which needs the same right
// (ptrace(2), PTRACE_MODE_ATTACH).
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
	n, err := copyFile(tid, addr, p, write) // without the right, this fails too
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

// copyFile copies through /proc/TID/mem. Writes to that file ignore the protection of private
// pages, so copyFile may change memory of the program for which process_vm_writev would return
// EFAULT.
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

// readPath reads a path of at most 4095 bytes into buf. Each read ends at a page boundary, so a
// path at the end of mapped memory is readable. It returns ENAMETOOLONG for longer paths and
// EFAULT for memory that cannot be read.
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

// access calls f, which accesses memory of the caller. A worker uses it for accesses outside the
// handler's methods. f can block for an unlimited time, so the end of the server does not wait for
// f; after that end, access returns ErrGone.
func (c *Call) access(f func() error) error {
	c.s.sched.leave()
	err := f()
	if !c.s.sched.resume() {
		return ErrGone
	}
	return err
}

// Read copies memory of the caller at addr into p. It returns EFAULT for memory that the caller
// cannot read and [ErrGone] if the caller was killed, in which case the content of p is invalid.
func (c *Call) Read(addr uint64, p []byte) error {
	return c.checked(copyFrom(c.TID(), addr, p))
}

// Write copies p into the caller's memory at addr. It returns EFAULT for memory that the caller
// cannot write and [ErrGone] if the caller was killed.
//
// A thread that waits for an answer cannot execute another program, and its thread ID cannot be
// reused; Write verifies before the copy that the thread still waits. If SIGKILL ends the caller
// in between, the copy fails unless the kernel reuses the thread ID within that time.
func (c *Call) Write(addr uint64, p []byte) error {
	if !c.Valid() {
		return ErrGone
	}
	return c.checked(copyTo(c.TID(), addr, p))
}

// OpenMemory opens the caller's address space (/proc/PID/mem). The file is bound to that address
// space: after the caller has executed another program or has ended, reads return 0 bytes.
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

// checked returns ErrGone in place of err if the caller is gone.
func (c *Call) checked(err error) error {
	if !c.Valid() {
		return ErrGone
	}
	return err
}

// Valid reports whether the caller still waits for an answer.
func (c *Call) Valid() bool { return c.s.listener.valid(c.n.id) }
