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

// ErrLost is in the error of an access to bytes that are no longer, or not at the moment, there.
var ErrLost = errors.New("bytes out of reach")

// Memory is a run of bytes of the host. It implements [mr.Atomic], [mr.Flusher] and
// [mr.ReadOnly], and is not [mr.Addressable]: its bytes are copied, under guard. Its methods
// may be called by several goroutines at a time.
type Memory struct {
	name     string
	start    unsafe.Pointer // no slice: whoever prints a Memory must not read through it
	size     uint64
	words    *mr.Region // over all bytes: keeps the order of a message's end, changes words
	file     *os.File   // nil when anonymous
	fd       int
	readOnly bool

	users  atomic.Int64 // accesses under way, and one more until Close
	closed atomic.Bool
	fault  atomic.Pointer[error]
}

// unaligned serializes the atomics at places that are no multiple of 8. It is one for all memory,
// because two may be mappings of the same file.
var unaligned sync.Mutex

// newMemory takes over the mapping and the file.
func newMemory(name string, bytes []byte, file *os.File, readOnly bool) (*Memory, error) {
	access := mr.LocalWrite
	if readOnly {
		access = 0
	}
	start, size := unsafe.Pointer(unsafe.SliceData(bytes)), uint64(len(bytes))
	table := mr.NewTable([32]byte{}, 1) // its one key is not given out
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

// Anonymous returns size bytes of zeros that only this process has. Pages are taken from the
// system when they are first used.
func Anonymous(size uint64) (*Memory, error) {
	const name = "anonymous memory"
	if err := mappable(name, size); err != nil {
		return nil, err
	}
	b, err := mapAnonymous(int(size))
	if err != nil {
		return nil, fmt.Errorf("hostmem: %d bytes of anonymous memory: %w; ask for less", size, err)
	}
	return newMemory(name, b, nil, false)
}

// mapping is the whole memory. What touches it is guarded.
func (m *Memory) mapping() []byte { return unsafe.Slice((*byte)(m.start), m.size) }

// mappable says why size bytes cannot be mapped by any process.
func mappable(name string, size uint64) error {
	if size == 0 {
		return fmt.Errorf("hostmem: %s: size 0; give the size in bytes", name)
	}
	if size > math.MaxInt {
		return fmt.Errorf("hostmem: %s: %d bytes are more than a process can address", name, size)
	}
	return nil
}

// Size is the number of bytes when the memory was opened.
func (m *Memory) Size() uint64 { return m.size }

// String is the name and the size.
func (m *Memory) String() string { return fmt.Sprintf("%s (%d bytes)", m.name, m.size) }

// ReadOnly reports whether writes are refused.
func (m *Memory) ReadOnly() bool { return m.readOnly }

// Name is the path of the file, or says what else it is.
func (m *Memory) Name() string { return m.name }

// Err is why the last access that failed did so, nil when none has.
func (m *Memory) Err() error {
	if p := m.fault.Load(); p != nil {
		return *p
	}
	return nil
}

// Close gives the memory back when the accesses under way have ended; those that come later are
// refused. Deregister what is registered on it first. A file and its content remain.
func (m *Memory) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	return m.release()
}
