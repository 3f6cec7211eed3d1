package mr

import (
	"fmt"
	"sync/atomic"
)

// PD is a protection domain: a region is accessible only through a queue pair of the same PD.
// Domains are compared by pointer; ID is for display. The methods are safe for concurrent use.
type PD struct {
	ID    uint32
	users atomic.Int64 // number of regions, windows, queue pairs and SRQs, or deallocated
}

// deallocated is the value of users in a deallocated domain.
const deallocated = -1

// Hold adds a user to the domain, which Release removes. It fails if the domain is deallocated.
func (p *PD) Hold() error {
	for {
		n := p.users.Load()
		if n == deallocated {
			return fmt.Errorf("mr: protection domain %d was deallocated; allocate another", p.ID)
		}
		if p.users.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// Release undoes one Hold.
func (p *PD) Release() { p.users.Add(-1) }

// Dealloc deallocates the domain, so that no object can be created in it. It fails if the
// domain has regions, windows, queue pairs or SRQs, as ibv_dealloc_pd does with EBUSY.
// Deallocating a domain again does nothing.
func (p *PD) Dealloc() error {
	if p.users.CompareAndSwap(0, deallocated) {
		return nil
	}
	if n := p.users.Load(); n != deallocated {
		return fmt.Errorf(
			"mr: protection domain %d is in use by %d regions, windows, queue pairs and SRQs; destroy those first",
			p.ID, n)
	}
	return nil
}
