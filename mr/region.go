package mr

// Region is the memory that a key resolves to: a region in the sense of verbs, made by
// [Table.Register] or [Table.RegisterFast], or the part of one that a memory window is bound
// to. A region that is no longer valid never becomes valid again: a new registration or binding
// creates another Region, so that accesses through a stale pointer stay rejected.
type Region struct {
	bytes        []byte // the region's bytes, nil if the memory is not addressable
	iova, length uint64
	pd           *PD
	mem          Memory
	atomicMem    AtomicMemory // mem as AtomicMemory, nil if mem is not AtomicMemory or is addressable
	vectored     Vectored     // mem as Vectored, nil if mem is not Vectored or is addressable
	atomics      Locker       // lock of the table, see GuardAtomics
	window       *Window      // window of this binding; nil for a registered region
	parent       *Region      // region that the window is bound to
	start        uint64       // address of the window's first byte in parent
	base         uint64       // offset of the region's first byte in mem
	windows      int          // number of windows bound to this region
	access       Access
	key          uint32
	valid        bool
	addressable  bool
}

// PD returns the protection domain of the region.
func (r *Region) PD() *PD { return r.pd }

// IOVA returns the address of the region's first byte, as work requests and peers use it.
func (r *Region) IOVA() uint64 { return r.iova }

// Length returns the length of the region in bytes.
func (r *Region) Length() uint64 { return r.length }

// Access returns the access rights of the region.
func (r *Region) Access() Access { return r.access }

// LKey returns the key for local work requests.
func (r *Region) LKey() uint32 { return r.key }

// RKey returns the key for remote peers. It is the same number as LKey; the access rights limit
// what a peer can do with it.
func (r *Region) RKey() uint32 { return r.key }

// Valid reports whether the region is still registered, or the window still bound.
func (r *Region) Valid() bool { return r != nil && r.valid }

// Check returns [OK] if a work request on a queue pair of domain pd may access length bytes at addr
// with the rights in need (0 for a local read), otherwise the reason why not. An access of length 0
// is in bounds at any address. Check returns [BadKey] if r is nil, so the result of Lookup can be
// checked directly, and [WindowKey] if r is a window, whose key is for remote access only.
func (r *Region) Check(pd *PD, addr, length uint64, need Access) Fault {
	if r != nil && r.window != nil {
		return WindowKey
	}
	return r.check(pd, addr, length, need)
}

// CheckRemote is [Region.Check] for a remote access through queue pair qpn: a window of type 2
// is accessible only through the queue pair it was bound on (IBA 10.6.7.2).
func (r *Region) CheckRemote(pd *PD, qpn uint32, addr, length uint64, need Access) Fault {
	if r != nil && r.window != nil && r.window.typ == WindowType2 && r.window.qpn != qpn {
		return WrongQP
	}
	return r.check(pd, addr, length, need)
}

// check is Check without the rules for windows.
func (r *Region) check(pd *PD, addr, length uint64, need Access) Fault {
	switch {
	case r == nil:
		return BadKey
	case !r.valid:
		return Gone
	case r.pd != pd:
		return WrongPD
	case r.access&need != need:
		return NoAccess
	case !r.contains(addr, length):
		return OutOfBounds
	}
	return OK
}

// contains reports whether the n bytes at addr are inside the region. It compares offsets, not
// sums, so it cannot overflow.
func (r *Region) contains(addr, n uint64) bool {
	off := addr - r.iova
	return n == 0 || addr >= r.iova && off < r.length && n <= r.length-off
}

// View returns the n bytes at addr without a copy. The slice is valid until the region is
// deregistered. View returns nil if the memory is not addressable, and also if the range is out
// of bounds or the region is no longer valid; call [Region.Check] first to distinguish these.
func (r *Region) View(addr, n uint64) []byte {
	if !r.addressable || r.checkRange(addr, n) != OK {
		return nil
	}
	if n == 0 {
		return r.bytes[:0:0]
	}
	off := addr - r.iova
	return r.bytes[off : off+n : off+n]
}

// Read copies the bytes at addr to dst. The error is an [*AccessError] if the range is out of
// bounds or the region is no longer valid, otherwise that of the memory.
func (r *Region) Read(dst []byte, addr uint64) error {
	n := uint64(len(dst))
	if f := r.checkRange(addr, n); f != OK {
		return r.accessError("read", f, addr, n)
	}
	if n == 0 {
		return nil
	}
	if !r.addressable {
		return r.mem.ReadAt(dst, r.memOffset(addr))
	}
	copy(dst, r.bytes[addr-r.iova:])
	return nil
}

// Write copies src to the bytes at addr. The bytes become visible in any order. Errors are
// those of [Region.Read].
func (r *Region) Write(addr uint64, src []byte) error {
	n := uint64(len(src))
	if f := r.checkRange(addr, n); f != OK {
		return r.accessError("write", f, addr, n)
	}
	if n == 0 {
		return nil
	}
	if !r.addressable {
		return r.mem.WriteAt(src, r.memOffset(addr))
	}
	copy(r.bytes[addr-r.iova:], src)
	return nil
}

// Vectored reports whether the region supports [Region.WritePieces].
func (r *Region) Vectored() bool { return r.vectored != nil }

// WritePieces stores pieces as specified in [Vectored]. Off of each piece is an address of the
// region; WritePieces replaces it by the offset in the memory. The region must be Vectored. Errors
// are those of [Region.Read].
func (r *Region) WritePieces(pieces []Piece) (stored int, err error) {
	for i := range pieces {
		p := &pieces[i]
		if f := r.checkRange(p.Off, uint64(len(p.Data))); f != OK {
			pieces, err = pieces[:i], r.accessError("write", f, p.Off, uint64(len(p.Data)))
			break
		}
		p.Off = r.memOffset(p.Off)
	}
	if len(pieces) == 0 {
		return 0, err
	}
	stored, failed := r.vectored.WritePieces(pieces)
	if failed != nil {
		return stored, failed
	}
	return stored, err
}

// memOffset returns the offset in mem of the byte at addr.
func (r *Region) memOffset(addr uint64) uint64 { return addr - r.iova + r.base }

// checkRange returns OK if the region is valid and contains the n bytes at addr.
func (r *Region) checkRange(addr, n uint64) Fault {
	switch {
	case !r.valid:
		return Gone
	case !r.contains(addr, n):
		return OutOfBounds
	}
	return OK
}

func (r *Region) accessError(op string, f Fault, addr, n uint64) error {
	return &AccessError{Op: op, Fault: f, Addr: addr, Length: n, Key: r.key, IOVA: r.iova, Size: r.length}
}

// invalidate invalidates the region. It drops the memory, so that a stale pointer to the region
// does not keep the memory alive.
func (r *Region) invalidate() {
	r.valid = false
	r.bytes, r.mem, r.atomicMem, r.vectored = nil, nil, nil, nil
}
