//go:build !linux || !(amd64 || arm64)

package trap

// HelperMain does nothing: there are no helpers on this platform.
func HelperMain() {}

// Probe returns [ErrUnsupported].
func Probe() error { return ErrUnsupported }

// Nested returns false.
func Nested() bool { return false }
