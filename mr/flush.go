package mr

// Flusher is Memory that can make written bytes visible or persistent on request.
type Flusher interface {
	Memory
	// Flush returns when the n bytes at off are globally visible and, if persist is set and the
	// memory supports it, will survive a power loss.
	Flush(off, n uint64, persist bool) error
}

// Flush makes n bytes at addr globally visible and, if persist is set and the memory supports
// it, persistent. For memory that is not a [Flusher] it does nothing, because written bytes are
// already visible. The error is an [*AccessError] if the range is out of bounds or the region
// is no longer valid, otherwise that of the memory.
func (r *Region) Flush(addr, n uint64, persist bool) error {
	if f := r.checkRange(addr, n); f != OK {
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

// FlushAll flushes the whole region; for a window, the whole region that the window is bound
// to.
func (r *Region) FlushAll(persist bool) error {
	if r.valid && r.parent != nil {
		r = r.parent
	}
	return r.Flush(r.iova, r.length, persist)
}
