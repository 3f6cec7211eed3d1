package procmem

import (
	"sync/atomic"

	"github.com/gorxe/gorxe/mr"
)

// Region is a range of an [AddressSpace]. It implements [mr.Memory], [mr.Vectored],
// [mr.AtomicMemory] and [mr.ReadOnly]; offsets are relative to its start. Its methods are safe for
// concurrent use and, except when they fail, do not allocate. Errors are [*Error] values.
type Region struct {
	space    *AddressSpace
	addr     uint64
	size     uint64
	readOnly bool
	closed   atomic.Bool
	fault    atomic.Pointer[error]
}

// Size returns the number of bytes.
func (r *Region) Size() uint64 { return r.size }

// Addr returns the address of the first byte in the process's address space.
func (r *Region) Addr() uint64 { return r.addr }

// ReadOnly reports whether writes are refused: the region was registered without an access flag
// that permits writes, so its pages need not be writable.
func (r *Region) ReadOnly() bool { return r.readOnly }

// Err returns the error of the last access that failed, nil if none has failed.
func (r *Region) Err() error {
	if p := r.fault.Load(); p != nil {
		return *p
	}
	return nil
}

// Close ends the region: later accesses fail, running ones complete. It does not change the
// memory of the process.
func (r *Region) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	return r.space.release()
}

// ReadAt fills p with the bytes at off.
func (r *Region) ReadAt(p []byte, off uint64) error {
	if err := r.enter(opRead, off, uint64(len(p))); err != nil {
		return err
	}
	return r.leave(r.space.move(opRead, false, p, r.addr+off))
}

// WriteAt stores p at off. After an error a part of p, from its start, may be stored.
func (r *Region) WriteAt(p []byte, off uint64) error {
	if err := r.enter(opWrite, off, uint64(len(p))); err != nil {
		return err
	}
	return r.leave(r.space.move(opWrite, true, p, r.addr+off))
}

// WritePieces stores the pieces in order, with as few system calls as [mr.Vectored] permits, and
// returns the number stored. After an error, parts of the following pieces, up to the next final
// piece, may also be stored.
func (r *Region) WritePieces(pieces []mr.Piece) (stored int, err error) {
	for i := range pieces {
		if off, n := pieces[i].Off, uint64(len(pieces[i].Data)); off > r.size || n > r.size-off {
			pieces, err = pieces[:i], r.keep(r.space.error(opWrite, OutOfBounds, r.addr+off, n, r.addr+off, nil))
			break
		}
	}
	if len(pieces) == 0 && err != nil {
		return 0, err
	}
	if err := r.enter(opWrite, 0, 0); err != nil {
		return 0, err
	}
	stored, failed := r.space.writePieces(pieces, r.addr)
	if failed = r.leave(failed); failed != nil {
		return stored, failed
	}
	return stored, err
}

// enter begins an access of n bytes at off. After success, the caller must call [Region.leave].
func (r *Region) enter(o op, off, n uint64) error {
	kind := Kind(0)
	switch {
	case off > r.size || n > r.size-off:
		kind = OutOfBounds
	case r.readOnly && o != opRead:
		kind = WriteToReadOnly
	case r.closed.Load() || !r.space.acquire():
		kind = Closed
	default:
		return nil
	}
	return r.keep(r.space.error(o, kind, r.addr+off, n, r.addr+off, nil))
}

// leave ends an access with the result err, and returns err.
func (r *Region) leave(err error) error {
	_ = r.space.release() // an error of closing the files does not concern the access
	if err != nil {
		return r.keep(err)
	}
	return nil
}

// keep stores err for [Region.Err].
func (r *Region) keep(err error) error {
	r.fault.Store(&err)
	return err
}
