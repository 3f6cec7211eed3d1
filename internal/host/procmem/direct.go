package procmem

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// direct copies by process_vm_readv and process_vm_writev, which take a PID. "Identity" in the
// package comment explains why such a copy cannot reach another address space.
type direct struct {
	mu      sync.RWMutex // read-locked during a copy
	pid     int          // 0: direct copies are not allowed
	pidfd   *os.File     // pidfd of the process
	refused atomic.Bool  // the kernel does not permit direct copies
}

// AllowDirect lets accesses of 4 KiB and more use process_vm_readv and process_vm_writev, which
// are about twice as fast and take the PID of the process in the PID namespace of the caller. The
// caller must
//
//   - verify that pid is the process of the files, which must include a pidfd;
//   - call [AddressSpace.EndDirect], and wait for its return, before the process executes
//     another program.
//
// The owner of the files must be the effective user of the caller: if the kernel reuses the PID,
// a write could reach another process of that user. If the kernel refuses such copies (Yama,
// seccomp), accesses use /proc/PID/mem.
func (s *AddressSpace) AllowDirect(pid int) error {
	if s.files.Pidfd == nil {
		return errors.New("procmem: direct copies require a pidfd")
	}
	switch owner, err := ownerOf(s.files.Mem); {
	case err != nil:
		return fmt.Errorf("procmem: the owner of a process: %w", err)
	case owner != os.Geteuid():
		return fmt.Errorf("procmem: direct copies are for processes of user %d, this one is of user %d",
			os.Geteuid(), owner)
	}
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	s.direct.pid, s.direct.pidfd = pid, s.files.Pidfd
	return nil
}

// EndDirect forbids direct copies and waits until the running copies end. The process can delay a
// copy without limit: see "Faults" in the package comment.
func (s *AddressSpace) EndDirect() {
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	s.direct.pid, s.direct.pidfd = 0, nil
}

// Direct reports whether direct copies are allowed.
func (s *AddressSpace) Direct() bool {
	s.direct.mu.RLock()
	defer s.direct.mu.RUnlock()
	return s.direct.pid != 0
}
