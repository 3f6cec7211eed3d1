package procmem

import "encoding/binary"

// atomicSize is the width of a remote atomic operation in bytes (IBA 9.4.5).
const atomicSize = 8

// WriteFinalAt stores p at off as [mr.Region.WriteFinal] does: the last 8 bytes are stored after
// the rest, in ascending order, in one system call for each naturally aligned piece of 8, 4, 2 or
// 1 bytes. That takes two calls if the message ends at a multiple of 8, and at most five. No byte
// outside p is written.
func (r *Region) WriteFinalAt(p []byte, off uint64) error {
	if err := r.enter(opWrite, off, uint64(len(p))); err != nil {
		return err
	}
	return r.leave(r.writeFinal(opWrite, p, r.addr+off))
}

func (r *Region) writeFinal(o op, p []byte, addr uint64) error {
	if body := len(p) - min(len(p), atomicSize); body > 0 {
		if err := r.space.move(o, true, p[:body], addr); err != nil {
			return err
		}
		p, addr = p[body:], addr+uint64(body)
	}
	return r.space.writeWords(o, p, addr)
}

// writeWords stores p in ascending order, in one system call for each naturally aligned piece.
func (s *AddressSpace) writeWords(o op, p []byte, addr uint64) error {
	for len(p) > 0 {
		n := alignedPiece(addr, len(p))
		if err := s.move(o, true, p[:n], addr); err != nil {
			return err
		}
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}

// alignedPiece returns the largest of 8, 4, 2 and 1 that divides addr and is at most n, which
// must be at least 1.
func alignedPiece(addr uint64, n int) int {
	size := atomicSize
	for size > n || addr%uint64(size) != 0 {
		size /= 2
	}
	return size
}

// CompareSwapAt is [mr.Region.CompareSwap], atomic with respect to the other atomics that share
// the lock of the address space.
func (r *Region) CompareSwapAt(off, compare, swap uint64) (old uint64, err error) {
	return r.update(opAtomic, off, func(v uint64) (uint64, bool) { return swap, v == compare })
}

// FetchAddAt is [mr.Region.FetchAdd], atomic with respect to the other atomics that share the
// lock of the address space.
func (r *Region) FetchAddAt(off, add uint64) (old uint64, err error) {
	return r.update(opAtomic, off, func(v uint64) (uint64, bool) { return v + add, true })
}

// update replaces the 8 bytes at off by the result of f, unless f returns false, and returns
// their previous value.
func (r *Region) update(o op, off uint64, f func(uint64) (uint64, bool)) (old uint64, err error) {
	if err := r.enter(o, off, atomicSize); err != nil {
		return 0, err
	}
	s, a, addr := r.space, r.space.atomics, r.addr+off
	a.mu.Lock()
	err = s.move(o, false, a.word[:], addr)
	if err == nil {
		old = binary.NativeEndian.Uint64(a.word[:])
		if v, store := f(old); store {
			binary.NativeEndian.PutUint64(a.word[:], v)
			err = r.writeFinal(o, a.word[:], addr)
		}
	}
	a.mu.Unlock()
	if err = r.leave(err); err != nil {
		return 0, err
	}
	return old, nil
}

// StoreUint64At stores v at off in the byte order of the host; see [mr.Region.WriteAtomic]. It is
// atomic with respect to atomics like CompareSwapAt, and a single store at a multiple of 8.
func (r *Region) StoreUint64At(off, v uint64) error {
	if err := r.enter(opWrite, off, atomicSize); err != nil {
		return err
	}
	a := r.space.atomics
	a.mu.Lock()
	binary.NativeEndian.PutUint64(a.word[:], v)
	err := r.writeFinal(opWrite, a.word[:], r.addr+off)
	a.mu.Unlock()
	return r.leave(err)
}

// LoadByteAt reads the byte at off; see [mr.Region.LoadByte].
func (r *Region) LoadByteAt(off uint64) (byte, error) {
	v, err := r.load(off, 1)
	return v[0], err
}

// LoadUint64At reads 8 bytes at off in the byte order of the host; see [mr.Region.LoadUint64].
func (r *Region) LoadUint64At(off uint64) (uint64, error) {
	v, err := r.load(off, atomicSize)
	return binary.NativeEndian.Uint64(v[:]), err
}

func (r *Region) load(off uint64, n int) (v [atomicSize]byte, err error) {
	if err := r.enter(opRead, off, uint64(n)); err != nil {
		return v, err
	}
	a := r.space.atomics
	a.mu.Lock()
	if err = r.space.move(opRead, false, a.word[:n], r.addr+off); err == nil {
		copy(v[:], a.word[:n])
	}
	a.mu.Unlock()
	return v, r.leave(err)
}
