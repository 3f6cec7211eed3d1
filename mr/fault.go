package mr

import "fmt"

// Fault is the reason why an access is rejected.
type Fault uint8

const (
	// OK: the access is permitted.
	OK Fault = iota
	// BadKey: no region has the key; it may be that of a deregistered region.
	BadKey
	// WrongPD: the region is in another protection domain than the queue pair.
	WrongPD
	// OutOfBounds: some byte of the access lies outside the region.
	OutOfBounds
	// NoAccess: the region was registered without an access right that the access requires.
	NoAccess
	// Gone: after the key was resolved, the region was deregistered or invalidated, or the
	// window unbound.
	Gone
	// WindowKey: a work request uses the key of a memory window for local memory.
	WindowKey
	// WrongQP: the memory window is bound on another queue pair.
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

// String returns the fault in words.
func (f Fault) String() string {
	if f < numFaults {
		return faultTexts[f]
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// AccessError is the error of a rejected access to a region.
type AccessError struct {
	Op           string // "read", "write", "atomic", "flush"
	Fault        Fault
	Addr, Length uint64 // range of the access
	Key          uint32
	IOVA, Size   uint64 // range of the region
}

// Error describes the access, the region and the fault.
func (e *AccessError) Error() string {
	return fmt.Sprintf("mr: %s of %d bytes at %#x: %v (key %#08x covers %d bytes from %#x)",
		e.Op, e.Length, e.Addr, e.Fault, e.Key, e.Size, e.IOVA)
}
