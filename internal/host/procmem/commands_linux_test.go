package procmem

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/gorxe/gorxe/mr"
	"golang.org/x/sys/unix"
)

// Part of include/uapi/linux/userfaultfd.h.
const (
	userModeOnly = 1
	uffdAPI      = 0xc018aa3f
	uffdRegister = 0xc020aa00
	uffdMissing  = 1
)

// userfault registers the pages of a range with a userfaultfd whose events are never handled.
func userfault(addr, size, flags uint64) error {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, uintptr(flags|unix.O_CLOEXEC), 0, 0)
	if errno != 0 {
		return errno
	}
	api, area := [3]uint64{0xaa}, [4]uint64{addr, size, uffdMissing}
	if _, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, uffdAPI, uintptr(unsafe.Pointer(&api))); errno != 0 {
		return errno
	}
	if _, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, uffdRegister, uintptr(unsafe.Pointer(&area))); errno != 0 {
		return errno
	}
	return nil
}

// watch polls the last byte of the size bytes at addr until it is round, and reports whether all
// others are round too.
func watch(addr, size uint64, round byte) (string, error) {
	b := bytesAt(addr, size)
	word := (*uint64)(unsafe.Pointer(&b[(size-1)&^7]))
	for {
		var w [8]byte
		binary.NativeEndian.PutUint64(w[:], atomic.LoadUint64(word))
		if w[(size-1)&7] == round {
			break
		}
		runtime.Gosched()
	}
	for i := range b {
		if b[i] != round {
			return "", fmt.Errorf("byte %d of %d is %d when the last one is %d", i, size, b[i], round)
		}
	}
	return "ok", nil
}

// forked makes a child that does not execute another program, and returns its PID. The child
// waits for [askChild], stores 'c' at addr, and ends with its parent.
//
//go:norace
func forked(addr uint64) (string, error) {
	var to, from [2]int
	if err := unix.Pipe(to[:]); err != nil {
		return "", err
	}
	if err := unix.Pipe(from[:]); err != nil {
		return "", err
	}
	b := (*byte)(at(addr))
	var c byte
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return "", errno
	}
	if pid == 0 { // system calls only: the child has only one thread of the Go runtime
		unix.RawSyscall(unix.SYS_CLOSE, uintptr(to[1]), 0, 0)
		unix.RawSyscall(unix.SYS_READ, uintptr(to[0]), uintptr(unsafe.Pointer(&c)), 1)
		unix.RawSyscall(unix.SYS_WRITE, uintptr(from[1]), uintptr(unsafe.Pointer(b)), 1)
		*b = 'c'
		unix.RawSyscall(unix.SYS_WRITE, uintptr(from[1]), uintptr(unsafe.Pointer(b)), 1)
		for { // the test's pipes end with its program, not with this child
			n, _, _ := unix.RawSyscall(unix.SYS_READ, uintptr(to[0]), uintptr(unsafe.Pointer(&c)), 1)
			if n != 1 {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
	}
	unix.Close(to[0])
	unix.Close(from[1])
	child = os.NewFile(uintptr(from[0]), "child")
	childIn = os.NewFile(uintptr(to[1]), "child")
	return strconv.Itoa(int(pid)), nil
}

var child, childIn *os.File

// askChild continues the child and returns the bytes that it read before and after its store.
func askChild() (string, error) {
	if _, err := childIn.Write([]byte{1}); err != nil {
		return "", err
	}
	b := make([]byte, 2)
	_, err := io.ReadFull(child, b)
	return string(b), err
}

// serve is a process without access rights to the program. It has a region's descriptors 3 and 4,
// and the PID, address and size in its environment. It adds 1 to the word at the region's start
// and stores a text.
func serve() error {
	var n [3]uint64
	for i, w := range strings.Fields(os.Getenv("PROCMEM_TEST_REGION")) {
		n[i], _ = strconv.ParseUint(w, 10, 64)
	}
	if _, err := OpenFiles(int(n[0])); err == nil {
		return fmt.Errorf("the server has the right to open the memory itself: it has user ID %d", os.Geteuid())
	}
	s, err := New(int(n[0]), &Files{Mem: os.NewFile(3, "mem"), Maps: os.NewFile(4, "maps")})
	if err != nil {
		return err
	}
	r, err := s.Region(n[1], n[2], mr.LocalWrite)
	if err != nil {
		return err
	}
	if _, err := r.FetchAddAt(0, 1); err != nil {
		return err
	}
	return r.WriteFinalAt([]byte("served"), 8)
}
