package mr

import (
	"encoding/binary"
	"sync/atomic"
)

// atomicSize is the width of a remote atomic operation in bytes (IBA 9.4.5).
const atomicSize = 8

// Locker is a mutual exclusion, such as a sync.Mutex.
type Locker interface {
	Lock()
	Unlock()
}

// GuardAtomics gives the table the lock under which its regions execute those atomics that no
// single instruction does. A table whose regions are used by several goroutines at once needs
// one, before the first region: that makes atomics atomic towards one another, whatever memory
// they meet and through whatever region, as IBV_ATOMIC_HCA demands. The lock is held for one
// read and one write of 8 bytes; memory that blocks meanwhile delays the others.
func (t *Table) GuardAtomics(l Locker) { t.atomics = l }

// CompareSwap stores swap in the 8 bytes at addr if they hold compare, and returns what
// they held before. The value has the byte order of the host. It is atomic towards
// programs that use the same memory through sync/atomic, where the place is a multiple
// of 8 in memory and the memory is addressable or [Atomic]. Elsewhere it is atomic towards
// CompareSwap, FetchAdd and WriteAtomic of all regions of the table ([Table.GuardAtomics]), and
// not towards other writes: one of those between its read and its write is lost (IBA 9.4.5
// promises no more). The rule that addr is a multiple of 8 (IBA 9.4.5) is the caller's to
// check, and is about addr alone: memory whose place differs from its address modulo 8, which
// Linux does not register, is served all the same. The error is an [*AccessError] when the
// range is out of bounds or the region is gone, otherwise that of the memory.
func (r *Region) CompareSwap(addr, compare, swap uint64) (old uint64, err error) {
	if r.words != nil && r.fault(addr, atomicSize) == OK {
		return r.words.CompareSwapAt(r.place(addr), compare, swap)
	}
	return r.update(addr, func(v uint64) uint64 {
		if v == compare {
			return swap
		}
		return v
	})
}

// FetchAdd adds add to the 8 bytes at addr, modulo 2^64, and returns what they held
// before; the rest is as with [Region.CompareSwap].
func (r *Region) FetchAdd(addr, add uint64) (old uint64, err error) {
	if r.words != nil && r.fault(addr, atomicSize) == OK {
		return r.words.FetchAddAt(r.place(addr), add)
	}
	return r.update(addr, func(v uint64) uint64 { return v + add })
}

// update replaces the value at addr by f of it and returns the old one.
func (r *Region) update(addr uint64, f func(uint64) uint64) (old uint64, err error) {
	if fault := r.fault(addr, atomicSize); fault != OK {
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

// updateGuarded is update with the table's lock, which a panic of the memory does not leave locked.
func (r *Region) updateGuarded(addr uint64, f func(uint64) uint64) (old uint64, err error) {
	if r.atomics != nil {
		r.atomics.Lock()
		defer r.atomics.Unlock()
	}
	var b [atomicSize]byte
	if r.addressable { // in the words of LoadUint64 and WriteFinal: there may be writers beside
		binary.NativeEndian.PutUint64(b[:], r.LoadUint64(addr))
	} else if err := r.Read(b[:], addr); err != nil {
		return 0, err
	}
	old = binary.NativeEndian.Uint64(b[:])
	binary.NativeEndian.PutUint64(b[:], f(old))
	return old, r.WriteFinal(addr, b[:])
}

// WriteAtomic stores the 8 bytes of b at addr, where the memory allows it in one piece: the
// conditions are those of [Region.CompareSwap]. Elsewhere it is [Region.WriteFinal], atomic
// towards CompareSwap and FetchAdd.
func (r *Region) WriteAtomic(addr uint64, b *[atomicSize]byte) error {
	if fault := r.fault(addr, atomicSize); fault != OK {
		return r.accessError("write", fault, addr, atomicSize)
	}
	if r.words != nil {
		return r.words.StoreUint64At(r.place(addr), binary.NativeEndian.Uint64(b[:]))
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
