package mr

import (
	"encoding/binary"
	"sync/atomic"
)

// atomicSize is the operand size of a remote atomic operation in bytes (IBA 9.4.5).
const atomicSize = 8

// Locker is a mutex, such as a sync.Mutex.
type Locker interface {
	Lock()
	Unlock()
}

// GuardAtomics sets the lock under which the regions of the table execute atomics that have no
// single CPU instruction. A table whose regions several goroutines use at once needs a lock,
// set before the first region: it makes all atomics of the table atomic with respect to each
// other, through any region and on any memory, as IBV_ATOMIC_HCA requires. The lock is held for
// one read and one write of 8 bytes; memory that blocks during them delays the other atomics.
func (t *Table) GuardAtomics(l Locker) { t.atomics = l }

// CompareSwap stores swap in the 8 bytes at addr if they equal compare, and returns their
// previous value. Values are in host byte order.
//
// If the memory is addressable or [AtomicMemory], and the 8 bytes are 8-byte aligned in memory, the
// operation is atomic with respect to programs that access the memory through sync/atomic.
// Otherwise it is atomic only with respect to CompareSwap, FetchAdd and WriteAtomic on all regions
// of the table ([Table.GuardAtomics]): any other write between the read and the write of the
// operation is lost, which IBA 9.4.5 permits.
//
// The caller checks that addr is a multiple of 8 (IBA 9.4.5). CompareSwap works even if the memory
// at addr is not 8-byte aligned, as with a region whose addresses are not those of its memory. The
// error is an [*AccessError] if the range is out of bounds or the region is no longer valid,
// otherwise that of the memory.
func (r *Region) CompareSwap(addr, compare, swap uint64) (old uint64, err error) {
	if r.atomicMem != nil && r.checkRange(addr, atomicSize) == OK {
		return r.atomicMem.CompareSwapAt(r.memOffset(addr), compare, swap)
	}
	return r.update(addr, func(v uint64) uint64 {
		if v == compare {
			return swap
		}
		return v
	})
}

// FetchAdd adds add to the 8 bytes at addr, modulo 2^64, and returns their previous value.
// Atomicity and errors are those of [Region.CompareSwap].
func (r *Region) FetchAdd(addr, add uint64) (old uint64, err error) {
	if r.atomicMem != nil && r.checkRange(addr, atomicSize) == OK {
		return r.atomicMem.FetchAddAt(r.memOffset(addr), add)
	}
	return r.update(addr, func(v uint64) uint64 { return v + add })
}

// update replaces the value v at addr with f(v) and returns v.
func (r *Region) update(addr uint64, f func(uint64) uint64) (old uint64, err error) {
	if fault := r.checkRange(addr, atomicSize); fault != OK {
		return 0, r.accessError("atomic", fault, addr, atomicSize)
	}
	off := addr - r.iova
	if r.addressable && address(r.bytes, off)%atomicSize == 0 {
		w := word64(r.bytes, off)
		for {
			old = atomic.LoadUint64(w)
			if atomic.CompareAndSwapUint64(w, old, f(old)) {
				return old, nil
			}
		}
	}
	return r.updateGuarded(addr, f)
}

// updateGuarded is update under the table's lock. It unlocks even if a method of the memory panics.
func (r *Region) updateGuarded(addr uint64, f func(uint64) uint64) (old uint64, err error) {
	if r.atomics != nil {
		r.atomics.Lock()
		defer r.atomics.Unlock()
	}
	var b [atomicSize]byte
	if r.addressable { // use LoadUint64 and WriteFinal, because programs may write at the same time
		binary.NativeEndian.PutUint64(b[:], r.LoadUint64(addr))
	} else if err := r.Read(b[:], addr); err != nil {
		return 0, err
	}
	old = binary.NativeEndian.Uint64(b[:])
	binary.NativeEndian.PutUint64(b[:], f(old))
	return old, r.WriteFinal(addr, b[:])
}

// WriteAtomic stores the 8 bytes of b at addr: by a single store under the conditions of
// [Region.CompareSwap], otherwise by [Region.WriteFinal], atomic with respect to CompareSwap and
// FetchAdd.
func (r *Region) WriteAtomic(addr uint64, b *[atomicSize]byte) error {
	if fault := r.checkRange(addr, atomicSize); fault != OK {
		return r.accessError("write", fault, addr, atomicSize)
	}
	if r.atomicMem != nil {
		return r.atomicMem.StoreUint64At(r.memOffset(addr), binary.NativeEndian.Uint64(b[:]))
	}
	off := addr - r.iova
	if r.addressable && address(r.bytes, off)%atomicSize == 0 {
		atomic.StoreUint64(word64(r.bytes, off), binary.NativeEndian.Uint64(b[:]))
		return nil
	}
	if r.atomics != nil {
		r.atomics.Lock()
		defer r.atomics.Unlock()
	}
	return r.WriteFinal(addr, b[:])
}
