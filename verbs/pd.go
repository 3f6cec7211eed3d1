package verbs

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// AllocPD makes a protection domain of the device's own context: regions and queue pairs of different
// domains do not reach each other.
func (d *Device) AllocPD() *PD {
	// The device's own context is not closed and has no limits.
	p, _ := d.ctx.AllocPD()
	return p
}

// AllocPD makes a protection domain of the context. What is made in the domain is the context's too.
func (c *Context) AllocPD() (*PD, error) {
	p := &PD{}
	err := c.add(objectPD, &p.owned, p.Dealloc, func() error {
		p.pd = &mr.PD{ID: c.dev.pds.Add(1)}
		c.own(p.pd.ID)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("protection domain: %w", err)
	}
	return p, nil
}

// PD is a protection domain.
type PD struct {
	owned
	pd *mr.PD
}

// ID tells the domain apart from the others of its device: 1 for the first, and none comes
// twice.
func (p *PD) ID() uint32 { return p.pd.ID }

// Device returns the device the domain is on.
func (p *PD) Device() *Device { return p.ctx.dev }

// Dealloc ends the domain, as ibv_dealloc_pd: nothing can be made in it any more. It refuses one that
// has regions, memory windows, queue pairs or shared receive queues. Address handles are no obstacle:
// no queue pair is left that could use them. Deallocating again does nothing.
func (p *PD) Dealloc() error {
	err := p.pd.Dealloc()
	if err == nil {
		p.ctx.dev.owners.Delete(p.pd.ID)
	}
	return p.ended(err)
}

// Domain returns the domain as package mr has it, for the [RecvSource] of a queue pair.
func (p *PD) Domain() *mr.PD { return p.pd }
