package procmem

import (
	"sync/atomic"
)

// Region is a range of an [AddressSpace]. It implements [mr.Memory], [mr.Vectored], [mr.Atomic] and
// [mr.ReadOnly]; offsets count from its start. Its methods may be called by several goroutines at
// once and, except where they fail, allocate nothing. Errors are [*Error] values.
type Region struct {
	space    *AddressSpace
	addr     uint64
	size     uint64
	readOnly bool
	closed   atomic.Bool
	fault    atomic.Pointer[error]
}

// Size is the number of bytes.
func (r *Region) Size() uint64 { return r.size }

// Addr is the address of the first byte in the process's address space.
func (r *Region) Addr() uint64 { return r.addr }

// ReadOnly reports whether writes are refused: the region was made without an access flag that
// writes, so its pages need not be writable.
func (r *Region) ReadOnly() bool { return r.readOnly }

// Err is the error of the last access that failed, nil when none has.
func (r *Region) Err() error {
	if p := r.fault.Load(); p != nil {
		return *p
	}
	return nil
}

// Close ends the region: further accesses fail. Accesses under way are completed. The memory of the
// process is not touched.
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

// ReadAtV fills the pieces one behind the other with the bytes from off on. Up to 64 KiB take one
// system call. After an error a part of the pieces, from the start, may be filled.
func (r *Region) ReadAtV(pieces [][]byte, off uint64) error {
	n := total(pieces)
	if err := r.enter(opRead, off, n); err != nil {
		return err
	}
	return r.leave(r.space.readPieces(pieces, n, r.addr+off))
}

// WriteAtV stores the pieces one behind the other, the first at off. Up to 64 KiB take one system
// call. After an error a part of the pieces, from the start, may be stored.
func (r *Region) WriteAtV(pieces [][]byte, off uint64) error {
	n := total(pieces)
	if err := r.enter(opWrite, off, n); err != nil {
		return err
	}
	return r.leave(r.space.writePieces(pieces, n, r.addr+off))
}

func total(pieces [][]byte) (n uint64) {
	for _, p := range pieces {
		n += uint64(len(p))
	}
	return n
}

// enter begins an access of n bytes at off. After success [Region.leave] ends it.
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
	_ = r.space.release() // how closing ends says nothing of the access
	if err != nil {
		return r.keep(err)
	}
	return nil
}

// keep remembers err for [Region.Err].
func (r *Region) keep(err error) error {
	r.fault.Store(&err)
	return err
}
