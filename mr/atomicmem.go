package mr

// AtomicMemory is Memory that is not addressable but that programs access directly, for example
// through a mapping of the same file. It gives the guarantees that [Region] gives for addressable
// memory: the last byte of a message becomes visible last, and an aligned word is read and written
// by a single access. Each method does what the method of Region that its comment names does, at an
// offset instead of an address. The range is always within the memory. CompareSwapAt, FetchAddAt
// and StoreUint64At must be atomic with respect to each other at any offset: the caller does not
// hold the lock of the table.
type AtomicMemory interface {
	Memory
	// WriteFinalAt stores p at off as [Region.WriteFinal] does.
	WriteFinalAt(p []byte, off uint64) error
	// CompareSwapAt is [Region.CompareSwap].
	CompareSwapAt(off, compare, swap uint64) (old uint64, err error)
	// FetchAddAt is [Region.FetchAdd].
	FetchAddAt(off, add uint64) (old uint64, err error)
	// StoreUint64At is [Region.WriteAtomic] of a value in host byte order.
	StoreUint64At(off, v uint64) error
	// LoadByteAt is [Region.LoadByte].
	LoadByteAt(off uint64) (byte, error)
	// LoadUint64At is [Region.LoadUint64].
	LoadUint64At(off uint64) (uint64, error)
}

// ReadOnly is Memory that can be read-only. A region on read-only memory is registered without
// LOCAL_WRITE, and so without the rights that require it.
type ReadOnly interface {
	Memory
	// ReadOnly reports whether the memory rejects all writes. The result never changes.
	ReadOnly() bool
}
