package qp

import "github.com/gorxe/gorxe/mr"

// AH is an address handle: the way to a receiver of datagrams, resolved once by the device
// that will send. It does not change, so that many requests may name it at the same time.
type AH interface {
	// PD is the domain that the handle was made in; a queue pair uses handles of its own
	// domain only.
	PD() *mr.PD
	// Vector is what the handle was made from.
	Vector() AddressVector
	// Multicast is true when the way leads to a multicast group.
	Multicast() bool
}
