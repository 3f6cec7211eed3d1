//go:build !linux || !(amd64 || arm64)

package trap

// Probe returns [ErrUnsupported].
func Probe() error { return ErrUnsupported }

// Nested returns false.
func Nested() bool { return false }
