package nic

// token wakes one of those who wait for something to be there. The rule that loses no
// wake-up: whoever adds something leaves the token, and whoever takes something and leaves
// more passes it on. One that is left while it lies there already is the same one.
type token chan struct{}

func newToken() token { return make(token, 1) }

// wake leaves the token. It never waits and may be called with any lock held.
func (t token) wake() {
	select {
	case t <- struct{}{}:
	default:
	}
}
