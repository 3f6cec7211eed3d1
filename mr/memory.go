package mr

import "fmt"

// Memory is a contiguous range of bytes that a region gives access to. Offsets are relative to
// its start.
//
// A device calls the methods from several goroutines at once, also for overlapping bytes: its
// shards serve peers and execute work requests concurrently. Only the read and the write of an
// atomic do not interleave with those of another atomic ([Table.GuardAtomics]). The caller holds
// the lock of a shard, so a method must not call the device; while a method blocks, all queue pairs
// of that shard wait.
type Memory interface {
	// Size returns the number of bytes, which must not change while a region uses the memory.
	Size() uint64
	// ReadAt fills p with the bytes at off. It reads all of p or returns an error.
	ReadAt(p []byte, off uint64) error
	// WriteAt stores p at off. It writes all of p or returns an error.
	WriteAt(p []byte, off uint64) error
}

// Addressable is Memory in the address space of this process.
type Addressable interface {
	Memory
	// Bytes returns the whole memory, Size bytes long. It must return the same array on every
	// call.
	Bytes() []byte
}

// Vectored is Memory that stores several pieces in one call, for memory where each call is
// expensive. Memory that is also Addressable is accessed by pointer instead.
type Vectored interface {
	Memory
	// WritePieces stores the pieces in order. It returns the number of pieces stored: all of
	// them, or fewer and the error of the next one.
	WritePieces(pieces []Piece) (stored int, err error)
}

// Piece is a range of bytes to store in [Vectored] memory.
type Piece struct {
	Off  uint64 // offset of the first byte
	Data []byte
	// Final marks the last bytes of a message, at most [FinalBytes]. They become visible after all
	// earlier pieces and before all later ones, and among themselves in the order of
	// [Region.WriteFinal]. The pieces between two final ones become visible in any order, except
	// that the later one of two overlapping pieces wins.
	Final bool
}

// Bytes returns b as Memory. The slice is used in place, not copied.
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
