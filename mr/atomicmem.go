package mr

// Atomic is Memory that is not addressable and whose bytes programs reach by a way of their
// own, such as a mapping of the same file. What a region promises of addressable memory, the
// order of a message's end and words in one piece, such memory promises itself: each method is
// that of [Region] with an offset for the address. Accesses are inside the memory. Towards one
// another CompareSwapAt, FetchAddAt and StoreUint64At are atomic at any offset: no lock of the table
// is held.
type Atomic interface {
	Memory
	// WriteFinalAt stores p at off as [Region.WriteFinal] does.
	WriteFinalAt(p []byte, off uint64) error
	// CompareSwapAt is [Region.CompareSwap].
	CompareSwapAt(off, compare, swap uint64) (old uint64, err error)
	// FetchAddAt is [Region.FetchAdd].
	FetchAddAt(off, add uint64) (old uint64, err error)
	// StoreUint64At is [Region.WriteAtomic] of a value in the byte order of the host.
	StoreUint64At(off, v uint64) error
	// LoadByteAt is [Region.LoadByte].
	LoadByteAt(off uint64) (byte, error)
	// LoadUint64At is [Region.LoadUint64].
	LoadUint64At(off uint64) (uint64, error)
}

// ReadOnly is Memory that may refuse every write. A region on memory that does is registered
// without LOCAL_WRITE, and so without the rights that need it.
type ReadOnly interface {
	Memory
	// ReadOnly reports whether it does; the answer does not change.
	ReadOnly() bool
}
