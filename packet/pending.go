package packet

// PendingReporter is a link that can report whether its receiver lags behind. Decorators forward
// the call: see [Pending].
type PendingReporter interface {
	// Pending reports whether incoming frames may be unprocessed: frames wait for Recv, or the last
	// Recv returned frames and no later call has found the queue empty. A receiver that processes
	// all frames of a Recv before the next Recv has therefore processed everything that had arrived
	// when Pending returns false. With several receivers, the result considers only the last
	// receive call. Pending does not block and may be called at any time; after Close it returns
	// false.
	Pending() bool
}

// Pending calls Pending of l. It returns false if l is not a [PendingReporter].
func Pending(l Link) bool {
	p, ok := l.(PendingReporter)
	return ok && p.Pending()
}

// Pending calls Pending of the wrapped link.
func (t *tap) Pending() bool { return Pending(t.Link) }
