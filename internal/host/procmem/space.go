package procmem

import (
	"sync"
	"sync/atomic"
)

// AddressSpace is the address space that a process had when its files were opened. Its methods and
// those of its regions may be called by several goroutines at once.
type AddressSpace struct {
	pid    int
	files  Files
	mem    memory
	direct direct

	textMaps atomic.Bool // the kernel does not answer queryMaps
	mapsMu   sync.Mutex  // one reader of the text: where two take turns the kernel starts anew for each

	atomics *Atomics

	users  atomic.Int64 // regions and accesses under way, and one more until Close
	closed atomic.Bool
}

// Atomics is what makes atomics atomic towards each other: a lock, under which they are executed. AddressSpaces
// made by [NewWith] share one, those of all contexts of a program: two of them may be one address space, and
// nothing tells so. The zero value is ready for use.
type Atomics struct {
	mu   sync.Mutex       // held during an atomic
	word [atomicSize]byte // guarded by mu
}

// New is [NewWith] with Atomics of its own.
func New(pid int, f *Files) (*AddressSpace, error) { return NewWith(pid, f, &Atomics{}) }

// NewWith makes an AddressSpace and takes ownership of the files, also when it fails. pid appears in
// errors only. It returns an [*Error] of kind [Gone] if the files do not lead to an address space
// any more, and another error for files that are not those of a process.
//
// Mem and Maps refer to the same address space: if an execve had come between the two calls
// of open, the address space of Mem would be gone, unless another process shares it (CLONE_VM).
// [Files] says how a supervisor excludes that, too.
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

// PID is the number of the process, as given to [New] or [NewWith].
func (s *AddressSpace) PID() int { return s.pid }

// Close refuses further regions, and closes the files when all regions are closed and no access
// is under way. It returns the error of closing them if that is now.
func (s *AddressSpace) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.release()
}

// acquire takes a reference that keeps the files open. It fails when they are closed.
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

// release gives a reference back; the last one closes the files.
func (s *AddressSpace) release() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	return s.files.Close()
}
