package mr

import "fmt"

// Fault says why an access is refused.
type Fault uint8

const (
	// OK: the access may happen.
	OK Fault = iota
	// BadKey: no region has the key, or it belonged to one that is deregistered.
	BadKey
	// WrongPD: the region is in another protection domain than the queue pair.
	WrongPD
	// OutOfBounds: some byte of the access lies outside the region.
	OutOfBounds
	// NoAccess: the region was registered without a right that the access needs.
	NoAccess
	// Gone: the region was deregistered or invalidated, or the window unbound, after the key
	// had been resolved.
	Gone
	// WindowKey: a work request names local memory by the key of a memory window.
	WindowKey
	// WrongQP: the memory window is bound to another queue pair.
	WrongQP

	numFaults
)

var faultTexts = [numFaults]string{
	OK:          "ok",
	BadKey:      "no memory region has this key",
	WrongPD:     "memory region is in another protection domain",
	OutOfBounds: "out of the memory region's bounds",
	NoAccess:    "memory region does not grant this access",
	Gone:        "memory region was deregistered",
	WindowKey:   "key of a memory window in a local access",
	WrongQP:     "memory window is bound on another queue pair",
}

// String says the fault in words.
func (f Fault) String() string {
	if f < numFaults {
		return faultTexts[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// AccessError is the error of an access to a region that failed.
type AccessError struct {
	Op           string // "read", "write", "atomic", "flush"
	Fault        Fault
	Addr, Length uint64 // of the access
	Key          uint32
	IOVA, Size   uint64 // of the region
}

// Error names the access, the region and the fault.
func (e *AccessError) Error() string {
	return fmt.Sprintf("mr: %s of %d bytes at %#x: %v (key %#08x covers %d bytes from %#x)",
		e.Op, e.Length, e.Addr, e.Fault, e.Key, e.Size, e.IOVA)
}
