package qp

import "github.com/gorxe/gorxe/mr"

// AH is an address handle: the path to a datagram receiver, which the sending device resolves
// once. It is immutable, so any number of requests can use it concurrently.
type AH interface {
	// PD returns the protection domain of the handle; a queue pair accepts only handles of its
	// own domain.
	PD() *mr.PD
	// Vector returns the address vector that the handle was created from.
	Vector() AddressVector
	// Multicast reports whether the handle is for a multicast group.
	Multicast() bool
}
