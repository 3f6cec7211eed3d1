package procmem

import (
	"sync"
	"sync/atomic"
)

// AddressSpace is the address space that a process had when its files were opened. Its methods and
// the methods of its regions are safe for concurrent use.
type AddressSpace struct {
	pid    int
	files  Files
	mem    memory
	direct direct

	textMaps atomic.Bool // the kernel does not support queryMaps
	mapsMu   sync.Mutex  // serializes readers of the text: if two alternate, the kernel starts over for each read

	atomics *Atomics

	users  atomic.Int64 // regions and running accesses, plus one until Close
	closed atomic.Bool
}

// Atomics holds the lock that makes atomics atomic with respect to each other. AddressSpaces that
// [NewWith] makes may share an Atomics. Those of all verbs contexts of a program do, because two of
// them may be the same address space, which cannot be detected. The zero value is ready for use.
type Atomics struct {
	mu   sync.Mutex       // held during an atomic
	word [atomicSize]byte // guarded by mu
}

// New calls [NewWith] with new Atomics.
func New(pid int, f *Files) (*AddressSpace, error) { return NewWith(pid, f, &Atomics{}) }

// NewWith makes an AddressSpace. It takes ownership of the files, even if it fails. pid is used
// in errors only. It returns an [*Error] of kind [Gone] if the address space of the files no
// longer exists, and another error for files that do not belong to a process.
//
// Mem and Maps refer to the same address space: after an execve between the two opens, the
// address space of Mem would be gone, unless another process shares it (CLONE_VM). [Files]
// explains how a supervisor excludes that case too.
func NewWith(pid int, f *Files, a *Atomics) (*AddressSpace, error) {
	if err := f.validate(); err != nil {
		f.Close()
		return nil, err
	}
	s := &AddressSpace{pid: pid, files: *f, mem: openMemory(f.Mem), atomics: a}
	s.users.Store(1)
	if gone, err := s.gone(); gone || err != nil {
		f.Close()
		return nil, s.failed(opRegister, 0, 0, 0, err)
	}
	return s, nil
}

// PID returns the PID of the process, as given to [New] or [NewWith].
func (s *AddressSpace) PID() int { return s.pid }

// After Close no more regions can be made. The files are closed when all regions are closed and no
// access runs. If Close itself closes the files, it returns the error of that.
func (s *AddressSpace) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.release()
}

// acquire takes a reference that keeps the files open. It returns false if they are closed.
func (s *AddressSpace) acquire() bool {
	for {
		users := s.users.Load()
		if users == 0 {
			return false
		}
		if s.users.CompareAndSwap(users, users+1) {
			return true
		}
	}
}

// release drops a reference; the last one closes the files.
func (s *AddressSpace) release() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	return s.files.Close()
}
