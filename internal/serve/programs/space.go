//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/mr"
)

// space is the memory of a program for package uverbs.
type space struct {
	*procmem.AddressSpace
	process *process
}

// openSpace opens the memory of a caller, with the atomics of its process. The files belong to
// one address space: the caller cannot execute another program before it has an answer, and Valid
// checks afterwards that it still waits.
func openSpace(c *trap.Call, p *process) (*space, error) {
	pid, files, err := openMemory(c)
	if err != nil {
		return nil, err
	}
	s, err := procmem.NewWith(pid, files, &p.atomics)
	switch {
	case err != nil:
		return nil, err
	case !c.Valid():
		return nil, errors.Join(trap.ErrGone, s.Close())
	}
	_ = s.AllowDirect(pid) // if it fails, copies are slower
	return &space{s, p}, nil
}

// openMemory opens the files of a caller's memory. If the first thread of its process has ended,
// that thread has no memory any more (ESRCH, or EACCES because its files belong to root).
// openMemory then opens the files of the calling thread, and pid is its thread ID.
func openMemory(c *trap.Call) (pid int, files *procmem.Files, err error) {
	pid = c.Proc().PID
	if files, err = procmem.OpenFiles(pid); err != nil && c.TID() != pid {
		pid = c.TID()
		files, err = procmem.OpenFiles(pid)
	}
	return pid, files, err
}

// Account implements [uverbs.Accounted]: all programs belong to one user.
func (s *space) Account() (program, user any) { return s.process, nil }

// Register implements [uverbs.CallerMemory].
func (s *space) Register(addr, length uint64, access mr.Access) (mr.Memory, error) {
	return s.Region(addr, length, access)
}
