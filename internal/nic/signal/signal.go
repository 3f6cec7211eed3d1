// Package signal wakes goroutines that wait for a queue to become non-empty.
package signal

// Signal wakes one of the goroutines that wait for a queue to become non-empty. No wake-up is
// lost if every goroutine that adds an element sends the signal, and every goroutine that takes
// one and leaves more sends it again.
type Signal chan struct{}

// New returns a Signal that has not been sent.
func New() Signal { return make(Signal, 1) }

// Wake sends the signal, unless it was sent and not received yet. It never blocks and may be
// called with any lock held.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}
