package mr

// Region is memory that a key leads to: a region as verbs knows it, made by
// [Table.Register] or [Table.RegisterFast], or the part of one that a memory window is
// bound to. It never comes back to life: what is registered or bound again is another
// Region, so that a pointer kept from before stays refused.
type Region struct {
	bytes        []byte
	iova, length uint64
	pd           *PD
	mem          Memory
	words        Atomic   // mem, where it is that
	vectored     Vectored // mem, where it is that and not addressable
	atomics      Locker   // the table's
	window       *Window  // whose binding this is; nil for a region of its own
	parent       *Region  // that the window is bound to
	start        uint64   // of the window's part, as the parent counts
	base         uint64   // of the region's first byte in mem
	windows      int      // bound to this region
	access       Access
	key          uint32
	valid        bool
	addressable  bool
}

// PD is the protection domain the region belongs to.
func (r *Region) PD() *PD { return r.pd }

// IOVA is the address of the region's first byte, as work requests and peers name it.
func (r *Region) IOVA() uint64 { return r.iova }

// Length is the region's size in bytes.
func (r *Region) Length() uint64 { return r.length }

// Access is what the region was registered for.
func (r *Region) Access() Access { return r.access }

// LKey is the key for local work requests.
func (r *Region) LKey() uint32 { return r.key }

// RKey is the key for remote peers. It is the same number as LKey; the access flags
// decide what a peer may do with it.
func (r *Region) RKey() uint32 { return r.key }

// Valid is true until the region is deregistered or invalidated, or the window unbound.
func (r *Region) Valid() bool { return r != nil && r.valid }

// Check says whether a work request on a queue pair of domain pd may access length bytes at
// addr with the rights in need (0 for a local read). An access of length 0 is in bounds
// wherever it points. A nil region has [BadKey], so what Lookup returned can be checked as
// it comes. The key of a memory window is for peers only.
func (r *Region) Check(pd *PD, addr, length uint64, need Access) Fault {
	if r != nil && r.window != nil {
		return WindowKey
	}
	return r.check(pd, addr, length, need)
}

// CheckRemote is Check for what a peer asks of the queue pair qpn: a window of type 2 is
// open to the queue pair it was bound on and to no other (IBA 10.6.7.2).
func (r *Region) CheckRemote(pd *PD, qpn uint32, addr, length uint64, need Access) Fault {
	if r != nil && r.window != nil && r.window.typ == WindowType2 && r.window.qpn != qpn {
		return WrongQP
	}
	return r.check(pd, addr, length, need)
}

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

// contains compares offsets, never sums, so no address and length can overflow it: an
// address below the region gives an offset beyond any length.
func (r *Region) contains(addr, n uint64) bool {
	off := addr - r.iova
	return n == 0 || addr >= r.iova && off < r.length && n <= r.length-off
}

// View returns the n bytes at addr themselves, for use without a copy until the region is
// deregistered. It is nil when the memory is not addressable, and also when the range is
// out of bounds or the region is gone: [Region.Check] comes first.
func (r *Region) View(addr, n uint64) []byte {
	if !r.addressable || r.fault(addr, n) != OK {
		return nil
	}
	if n == 0 {
		return r.bytes[:0:0]
	}
	off := addr - r.iova
	return r.bytes[off : off+n : off+n]
}

// Read copies the bytes at addr to dst. The error is an [*AccessError] when the range is
// out of bounds or the region is gone, otherwise that of the memory.
func (r *Region) Read(dst []byte, addr uint64) error {
	n := uint64(len(dst))
	if f := r.fault(addr, n); f != OK {
		return r.accessError("read", f, addr, n)
	}
	if n == 0 {
		return nil
	}
	if !r.addressable {
		return r.mem.ReadAt(dst, r.place(addr))
	}
	copy(dst, r.bytes[addr-r.iova:])
	return nil
}

// Write copies src to the bytes at addr; errors are as those of Read. No order among the
// bytes is promised.
func (r *Region) Write(addr uint64, src []byte) error {
	n := uint64(len(src))
	if f := r.fault(addr, n); f != OK {
		return r.accessError("write", f, addr, n)
	}
	if n == 0 {
		return nil
	}
	if !r.addressable {
		return r.mem.WriteAt(src, r.place(addr))
	}
	copy(r.bytes[addr-r.iova:], src)
	return nil
}

// Vectored is true where [Region.WritePieces] takes one call of the memory.
func (r *Region) Vectored() bool { return r.vectored != nil }

// WritePieces stores pieces, whose Off are addresses, as [Vectored] says; errors are as those of
// Read. The region must be Vectored. Off of the pieces is changed.
func (r *Region) WritePieces(pieces []Piece) (stored int, err error) {
	for i := range pieces {
		p := &pieces[i]
		if f := r.fault(p.Off, uint64(len(p.Data))); f != OK {
			pieces, err = pieces[:i], r.accessError("write", f, p.Off, uint64(len(p.Data)))
			break
		}
		p.Off = r.place(p.Off)
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

// place is where the byte at addr lies in the memory.
func (r *Region) place(addr uint64) uint64 { return addr - r.iova + r.base }

func (r *Region) fault(addr, n uint64) Fault {
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

// end drops the memory, so that a pointer kept to a dead region keeps nothing else alive.
func (r *Region) end() {
	r.valid = false
	r.bytes, r.mem, r.words, r.vectored = nil, nil, nil, nil
}
