package mr

// Flusher is Memory that can be told to bring what was written where it lasts.
type Flusher interface {
	Memory
	// Flush returns when the n bytes at off are visible to all and, if persist is asked for
	// and the memory knows how, will outlast a loss of power.
	Flush(off, n uint64, persist bool) error
}

// Flush makes n bytes at addr globally visible and, if persist, persistent, as far as the
// memory knows how: it calls the memory's Flush. For other memory there is nothing to do: bytes that
// were written are visible. The error is an [*AccessError] when the range is out of bounds
// or the region is gone, otherwise that of the memory.
func (r *Region) Flush(addr, n uint64, persist bool) error {
	if f := r.fault(addr, n); f != OK {
		return r.accessError("flush", f, addr, n)
	}
	if r.parent != nil {
		return r.parent.Flush(addr-r.iova+r.start, n, persist)
	}
	if m, ok := r.mem.(Flusher); ok && n > 0 {
		return m.Flush(addr-r.iova, n, persist)
	}
	return nil
}

// FlushAll is Flush of the whole region; through a window, of the region it is bound to.
func (r *Region) FlushAll(persist bool) error {
	if r.valid && r.parent != nil {
		r = r.parent
	}
	return r.Flush(r.iova, r.length, persist)
}
