package procmem

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// direct are the copies by process_vm_readv and process_vm_writev, which take the number of a process. See "Identity"
// in the package comment for what keeps them away from another address space.
type direct struct {
	mu      sync.RWMutex // held for reading during a copy
	pid     int          // 0: there are no direct copies
	pidfd   *os.File     // of the process
	refused atomic.Bool  // the kernel does not permit them
}

// AllowDirect lets accesses of 4 KiB and more use process_vm_readv and process_vm_writev, which are about twice as fast
// and take the number of the process in the PID namespace of the caller. The caller has to
//
//   - verify that pid is the process of the files, which must include a pidfd;
//   - call [AddressSpace.EndDirect], and wait for its return, before the process executes another program.
//
// The owner of the files must be the effective user of the caller: where the number of a process is used again, a write
// could reach another process of that user. Where the kernel refuses such copies (Yama, seccomp) there are none.
func (s *AddressSpace) AllowDirect(pid int) error {
	if s.files.Pidfd == nil {
		return errors.New("procmem: direct copies require a pidfd")
	}
	switch owner, err := ownerOf(s.files.Mem); {
	case err != nil:
		return fmt.Errorf("procmem: the owner of a process: %w", err)
	case owner != os.Geteuid():
		return fmt.Errorf("procmem: direct copies are for processes of user %d, this one is of user %d", os.Geteuid(), owner)
	}
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	s.direct.pid, s.direct.pidfd = pid, s.files.Pidfd
	return nil
}

// EndDirect ends what AllowDirect began. When it returns no direct copy is under way: it waits as long as the memory
// of the process lets one take.
func (s *AddressSpace) EndDirect() {
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	s.direct.pid, s.direct.pidfd = 0, nil
}

// Direct reports whether direct copies are allowed now.
func (s *AddressSpace) Direct() bool {
	s.direct.mu.RLock()
	defer s.direct.mu.RUnlock()
	return s.direct.pid != 0
}
