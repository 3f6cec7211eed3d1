package hostmem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gorxe/gorxe/mr"
)

// ErrLost is wrapped in the error of an access to bytes that cannot be reached, for example
// because the file was truncated.
var ErrLost = errors.New("bytes not accessible")

// Memory is a range of host memory. It implements [mr.AtomicMemory], [mr.Flusher] and
// [mr.ReadOnly]. It does not implement [mr.Addressable]: bytes are always copied, by methods that
// catch faults. Its methods are safe for concurrent use.
type Memory struct {
	name     string
	start    unsafe.Pointer // not a slice: printing a Memory must not read through it
	size     uint64
	words    *mr.Region // over all bytes; implements the write order and the atomics
	file     *os.File   // nil for anonymous memory
	fd       int
	readOnly bool

	users  atomic.Int64 // running accesses, plus one until Close
	closed atomic.Bool
	fault  atomic.Pointer[error]
}

// unaligned serializes atomics at offsets that are not a multiple of 8. All Memory values share
// this mutex, because two of them may map the same file.
var unaligned sync.Mutex

// newMemory takes ownership of the mapping and the file.
func newMemory(name string, bytes []byte, file *os.File, readOnly bool) (*Memory, error) {
	access := mr.LocalWrite
	if readOnly {
		access = 0
	}
	start, size := unsafe.Pointer(unsafe.SliceData(bytes)), uint64(len(bytes))
	table := mr.NewTable([32]byte{}, 1) // its only key is not used
	table.GuardAtomics(&unaligned)
	words, err := table.Register(&mr.PD{}, mr.Bytes(bytes), 0, size, access)
	if err != nil {
		return nil, err
	}
	m := &Memory{name: name, start: start, size: size, words: words, file: file, fd: -1, readOnly: readOnly}
	if file != nil {
		m.fd = int(file.Fd())
	}
	m.users.Store(1)
	return m, nil
}

// Anonymous returns size zero bytes that are private to this process. The system allocates pages
// when they are first used.
func Anonymous(size uint64) (*Memory, error) {
	const name = "anonymous memory"
	if err := checkMappable(name, size); err != nil {
		return nil, err
	}
	b, err := mapAnonymous(int(size))
	if err != nil {
		return nil, fmt.Errorf("hostmem: %d bytes of anonymous memory: %w; ask for less", size, err)
	}
	return newMemory(name, b, nil, false)
}

// mapping returns the whole memory. Access it only between enter and leave.
func (m *Memory) mapping() []byte { return unsafe.Slice((*byte)(m.start), m.size) }

// checkMappable returns an error if size is 0 or no process can map size bytes.
func checkMappable(name string, size uint64) error {
	if size == 0 {
		return fmt.Errorf("hostmem: %s: size 0; give the size in bytes", name)
	}
	if size > math.MaxInt {
		return fmt.Errorf("hostmem: %s: %d bytes are more than a process can address", name, size)
	}
	return nil
}

// Size returns the number of bytes at the time of opening.
func (m *Memory) Size() uint64 { return m.size }

// String returns the name and the size.
func (m *Memory) String() string { return fmt.Sprintf("%s (%d bytes)", m.name, m.size) }

// ReadOnly reports whether writes are refused.
func (m *Memory) ReadOnly() bool { return m.readOnly }

// Name returns the path of the file, or a description of anonymous memory.
func (m *Memory) Name() string { return m.name }

// Err returns the error of the last access that failed, nil if none has failed.
func (m *Memory) Err() error {
	if p := m.fault.Load(); p != nil {
		return *p
	}
	return nil
}

// Close unmaps the memory when the running accesses have ended; later accesses fail. Regions on the
// memory must be deregistered first. A file and its content persist.
func (m *Memory) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	return m.release()
}
