//go:build linux && (amd64 || arm64)

package trap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mutateProgram changes a path and its mapping while other threads use it.
func mutateProgram([]string) error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	copy(page, abiPath)
	addr, cwd := uintptr(unsafe.Pointer(&page[0])), ^uintptr(99)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3000 {
			_ = unix.Mprotect(page, unix.PROT_NONE)
			_ = unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE)
			page[len(abiPath)] ^= 'x' // a file that does not exist
			page[1] ^= 's' ^ 'S'      // a path of the host
		}
	}()
	for {
		var st unix.Stat_t
		_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, cwd, addr, uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		if errno != 0 && errno != unix.ENOENT && errno != unix.EFAULT {
			return errno
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}

// stormProgram opens, uses and closes devices on 8 threads until it is killed.
func stormProgram([]string) error {
	for range 8 {
		go func() {
			for {
				if fd, err := unix.Open(devicePath, unix.O_RDWR, 0); err == nil {
					_, _ = verb(fd, opCount, 0)
					_ = unix.Close(fd)
				}
			}
		}()
	}
	select {}
}
