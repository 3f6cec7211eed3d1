package mr

import "fmt"

// Memory is a run of bytes that a region gives access to. Offsets count from its start.
//
// A device calls the methods from several goroutines at once, also for bytes that overlap: its
// shards serve peers side by side, and the owner's own work requests come in between. Only the
// two calls of one atomic are not interleaved with those of another ([Table.GuardAtomics]). A
// call holds the lock of a shard, so it must not call the device; while it blocks, all
// queue pairs of that shard wait.
type Memory interface {
	// Size is the number of bytes; it must not change while a region uses the memory.
	Size() uint64
	// ReadAt fills p with the bytes at off. It reads all of p or returns an error.
	ReadAt(p []byte, off uint64) error
	// WriteAt stores p at off. It writes all of p or returns an error.
	WriteAt(p []byte, off uint64) error
}

// Addressable is Memory that this process can reach by pointer.
type Addressable interface {
	Memory
	// Bytes is the whole memory, Size bytes long. It must be the same array on every call.
	Bytes() []byte
}

// Vectored is Memory that stores several pieces in one call, which is worth it where a call costs much: the
// pieces of up to 64 KiB of a message come together. Memory that is Addressable as well is used by pointer.
type Vectored interface {
	Memory
	// WriteAtV stores the pieces one behind the other, the first at off. It writes all or returns an error.
	WriteAtV(pieces [][]byte, off uint64) error
}

// Bytes makes a slice usable as Memory. The slice is used in place, not copied.
func Bytes(b []byte) Memory { return slice(b) }

type slice []byte

func (s slice) Size() uint64  { return uint64(len(s)) }
func (s slice) Bytes() []byte { return s }

func (s slice) ReadAt(p []byte, off uint64) error {
	if err := s.check(len(p), off); err != nil {
		return err
	}
	copy(p, s[off:])
	return nil
}

func (s slice) WriteAt(p []byte, off uint64) error {
	if err := s.check(len(p), off); err != nil {
		return err
	}
	copy(s[off:], p)
	return nil
}

func (s slice) check(n int, off uint64) error {
	if size := s.Size(); off > size || uint64(n) > size-off {
		return fmt.Errorf("mr: %d bytes at offset %d do not fit in memory of %d bytes", n, off, size)
	}
	return nil
}
