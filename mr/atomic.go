package mr

import (
	"encoding/binary"
	"sync/atomic"
)

// atomicSize is the width of a remote atomic operation in bytes (IBA 9.4.5).
const atomicSize = 8

// CompareSwap stores swap in the 8 bytes at addr if they hold compare, and returns what
// they held before. The value has the byte order of the host. It is atomic towards
// programs that use the same memory through sync/atomic, where the place is a multiple
// of 8 in memory and the memory is addressable or [Atomic]; elsewhere it is atomic only towards the
// owner of the table. The rule that addr is a multiple of 8 (IBA 9.4.5) is the caller's to
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
	var b [atomicSize]byte
	if err := r.Read(b[:], addr); err != nil {
		return 0, err
	}
	old = binary.NativeEndian.Uint64(b[:])
	binary.NativeEndian.PutUint64(b[:], f(old))
	return old, r.Write(addr, b[:])
}

// WriteAtomic stores the 8 bytes of b at addr, where the memory allows it in one piece: the
// conditions are those of [Region.CompareSwap]. Elsewhere it is [Region.WriteFinal].
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
	return r.WriteFinal(addr, b[:])
}
