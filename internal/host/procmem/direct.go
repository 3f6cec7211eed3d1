package procmem

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// directFrom is the length in bytes from which a direct copy is faster.
const directFrom = 4 << 10

// maxPieces is the largest number of pieces of a direct copy.
const maxPieces = 64

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

// one is pieces for one piece.
func (d *direct) one(write bool, p []byte, addr uint64) bool {
	if len(p) < directFrom || !d.begin() {
		return false
	}
	defer d.mu.RUnlock()
	one := [1][]byte{p}
	return d.copy(write, one[:], len(p), addr)
}

// pieces copies all pieces, of size bytes together, from or to the memory at addr, and reports
// whether it did. If not, a part of them may be copied.
func (d *direct) pieces(write bool, pieces [][]byte, size uint64, addr uint64) bool {
	if size < directFrom || len(pieces) > maxPieces || !d.begin() {
		return false
	}
	defer d.mu.RUnlock()
	return d.copy(write, pieces, int(size), addr)
}

// begin begins a copy, unless there are none or the last one is waited for.
func (d *direct) begin() bool {
	if d.refused.Load() || !d.mu.TryRLock() {
		return false
	}
	if d.pid == 0 {
		d.mu.RUnlock()
		return false
	}
	return true
}

// copy is pieces with the lock held. A process that has not ended keeps its number. What was read from another one is
// not used; a write is preceded by the look, because it could not be undone.
func (d *direct) copy(write bool, pieces [][]byte, size int, addr uint64) bool {
	if write && ended(d.pidfd) {
		return false
	}
	n, denied := transfer(d.pid, write, pieces, size, addr)
	if denied {
		d.refused.Store(true)
	}
	return n == size && (write || !ended(d.pidfd))
}
