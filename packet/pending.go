package packet

// PendingReporter is a link that can report whether its receiver lags behind. Decorators forward
// the call: see [Pending].
type PendingReporter interface {
	// Pending reports whether received frames may be unprocessed: they wait for Recv, or Recv
	// has returned some and has not been called again to find no more. A receiver that
	// processes all frames of a Recv before the next Recv has therefore processed everything
	// that had arrived when Pending returns false. With several receivers, only the last one
	// that looked for frames is considered. Pending does not block and may be called at any
	// time; after Close it returns false.
	Pending() bool
}

// Pending calls Pending of l. It returns false if l is not a [PendingReporter].
func Pending(l Link) bool {
	p, ok := l.(PendingReporter)
	return ok && p.Pending()
}

// Pending calls that of the wrapped link.
func (t *tap) Pending() bool { return Pending(t.Link) }
