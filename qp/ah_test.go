package qp_test

import (
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// handle is an address handle without a destination.
type handle struct {
	Domain *mr.PD
	Group  bool
}

func (h *handle) PD() *mr.PD               { return h.Domain }
func (h *handle) Vector() qp.AddressVector { return qp.AddressVector{HopLimit: 5} }
func (h *handle) Multicast() bool          { return h.Group }
