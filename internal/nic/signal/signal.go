// Package signal wakes goroutines that wait for something to be there.
package signal

// Signal wakes one of the goroutines that wait for something to be there. The rule that loses no
// wake-up: whoever adds something sends the signal, and whoever takes something and leaves
// more sends it again.
type Signal chan struct{}

// New returns a Signal that has not been sent.
func New() Signal { return make(Signal, 1) }

// Wake sends the signal, unless it is sent and was not received yet. It never waits and may be called with any lock held.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}
