//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/mr"
	"golang.org/x/sys/unix"
)

// space is the memory of a program for package uverbs.
type space struct {
	regions *procmem.AddressSpace
	mem     *os.File // for arguments and results of calls
}

// openSpace opens the memory of a caller, whose atomics are those of its process. The files are those of one
// address space: the caller cannot execute another program before it has an answer, and that it still waits is
// verified at last.
func openSpace(c *trap.Call, a *procmem.Atomics) (*space, error) {
	pid := c.Proc().PID
	files, err := procmem.OpenFiles(pid)
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(files.Mem.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	s := &space{mem: os.NewFile(uintptr(fd), "memory")}
	if s.regions, err = procmem.NewWith(pid, files, a); err == nil && !c.Valid() {
		err = trap.ErrGone
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the memory; regions keep what they need.
func (s *space) Close() error {
	err := s.mem.Close()
	if s.regions != nil {
		err = errors.Join(err, s.regions.Close())
	}
	return err
}

// Read implements [uverbs.Space].
func (s *space) Read(p []byte, addr uint64) error { return whole(s.mem.ReadAt(p, int64(addr)))(len(p)) }

// Write implements [uverbs.Space].
func (s *space) Write(p []byte, addr uint64) error {
	return whole(s.mem.WriteAt(p, int64(addr)))(len(p))
}

// whole is the error of a transfer that has to be complete.
func whole(n int, err error) func(int) error {
	return func(want int) error {
		switch {
		case n == want:
			return nil
		case err == nil || errors.Is(err, io.EOF):
			return fmt.Errorf("%d of %d bytes", n, want)
		}
		return err
	}
}

// Register implements [uverbs.Space].
func (s *space) Register(addr, length uint64, access mr.Access) (mr.Memory, error) {
	return s.regions.Region(addr, length, access)
}
