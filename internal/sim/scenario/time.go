package scenario

import "github.com/gorxe/gorxe/transport"

// Time is a reading of the virtual clock, in nanoseconds.
type Time = transport.Time

// Durations.
const (
	Microsecond Time = 1000
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)
