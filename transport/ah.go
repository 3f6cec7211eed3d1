package transport

import (
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// AH is the address handle of the datagram machines. It never changes: frames in flight
// and any number of work requests point to it at once, and the last of them lets go of it.
type AH struct {
	pd     *mr.PD
	vector qp.AddressVector
	path   packet.Path
	link   int
	mtu    uint32
	keep   any
}

// NewAH returns the handle for a vector that leads by the link with the given index over
// path, with a payload of up to mtu bytes a datagram. What keep points to is held as long as
// somebody has the handle.
func NewAH(pd *mr.PD, vector qp.AddressVector, link int, path packet.Path, mtu qp.MTU, keep any) *AH {
	return &AH{pd: pd, vector: vector, path: path, link: link, mtu: uint32(mtu), keep: keep}
}

// PD returns the domain that the handle was made in.
func (a *AH) PD() *mr.PD {
	if a == nil {
		return nil
	}
	return a.pd
}

// Vector returns what the handle was made from.
func (a *AH) Vector() qp.AddressVector {
	if a == nil {
		return qp.AddressVector{}
	}
	return a.vector
}

// Multicast is true when the way leads to a multicast group.
func (a *AH) Multicast() bool { return a != nil && a.path.Dst.IsMulticast() }
