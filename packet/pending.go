package packet

// Pender is a link that can tell whether the one that receives from it is behind. Decorators pass on what the link they
// wrap tells: see [Pending].
type Pender interface {
	// Pending reports whether frames have come that may not have been dealt with: they wait for Recv, or Recv has taken some
	// and was not called again to find that no more are there. So who deals with all that a Recv brought before the next Recv
	// has dealt with all that came when Pending is false. With several in Recv it is about the one that looked last.
	// It does not wait, and may be called at any time; after Close it is false.
	Pending() bool
}

// Pending is Pending of a link that may be no [Pender]: such a link has nothing pending.
func Pending(l Link) bool {
	p, ok := l.(Pender)
	return ok && p.Pending()
}

// Pending is that of the link below.
func (t *tap) Pending() bool { return Pending(t.Link) }
