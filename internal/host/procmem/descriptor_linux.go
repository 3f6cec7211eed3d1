package procmem

import (
	"os"

	"golang.org/x/sys/unix"
)

// descriptor is /proc/PID/mem. Each method makes one system call and may transfer less than p; 0
// bytes without an error mean that the address space is gone (Linux fs/proc/base.c, mem_rw). The
// file's offset is not used.
type descriptor int

func openMemory(f *os.File) memory { return descriptor(f.Fd()) }

func (d descriptor) read(p []byte, addr uint64) (int, error) {
	return unix.Pread(int(d), p, int64(addr))
}

func (d descriptor) write(p []byte, addr uint64) (int, error) {
	return unix.Pwrite(int(d), p, int64(addr))
}
