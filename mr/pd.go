package mr

import (
	"fmt"
	"sync/atomic"
)

// PD is a protection domain: a region can be reached only through a queue pair of the
// same PD. Domains are told apart by pointer; ID is for people. Its methods may be called by several
// goroutines at once.
type PD struct {
	ID    uint32
	users atomic.Int64 // regions, windows, queue pairs and SRQs; deallocated where it is over
}

// deallocated is the number of users of a domain that is to have no others.
const deallocated = -1

// Hold counts an object of the domain, which ends with Release. It refuses a domain that was
// deallocated.
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

// Release takes back one Hold.
func (p *PD) Release() { p.users.Add(-1) }

// Dealloc ends the domain: nothing can be made in it any more. It refuses one that has regions,
// windows, queue pairs or SRQs, as ibv_dealloc_pd does with EBUSY. Deallocating again does nothing.
func (p *PD) Dealloc() error {
	if p.users.CompareAndSwap(0, deallocated) {
		return nil
	}
	if n := p.users.Load(); n != deallocated {
		return fmt.Errorf("mr: protection domain %d is in use by %d regions, windows, queue pairs and SRQs; end those first", p.ID, n)
	}
	return nil
}
