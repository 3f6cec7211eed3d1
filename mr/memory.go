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

// Vectored is Memory that stores several pieces in one call, which is worth it where a call costs
// much. Memory that is Addressable as well is used by pointer.
type Vectored interface {
	Memory
	// WritePieces stores the pieces in turn. It returns how many it has stored: all of them, or
	// fewer and an error, which is about the next one.
	WritePieces(pieces []Piece) (stored int, err error)
}

// Piece is a part of what [Vectored] memory stores.
type Piece struct {
	Off  uint64 // of the first byte
	Data []byte
	// Final bytes, at most [FinalBytes], become visible after all pieces before them and before all
	// pieces behind them, and among themselves as [Region.WriteFinal] says. Other pieces become
	// visible in any order up to the next final one, except that of two pieces that overlap the
	// later one is seen in the end.
	Final bool
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
