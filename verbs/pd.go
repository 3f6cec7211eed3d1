package verbs

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// AllocPD allocates a protection domain of the device's own context. Queue pairs cannot access
// regions of another domain.
func (d *Device) AllocPD() *PD {
	// The device's own context is never closed and has no limits.
	p, _ := d.ctx.AllocPD()
	return p
}

// AllocPD allocates a protection domain of the context. Objects created in the domain belong to
// the context too.
func (c *Context) AllocPD() (*PD, error) {
	p := &PD{}
	err := c.add(objectPD, &p.owned, p.Dealloc, func() error {
		p.pd = &mr.PD{ID: c.dev.pds.Add(1)}
		c.recordOwner(p.pd.ID)
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

// ID returns the number of the domain, unique on its device: 1 for the first.
func (p *PD) ID() uint32 { return p.pd.ID }

// Device returns the domain's device.
func (p *PD) Device() *Device { return p.ctx.dev }

// Dealloc deallocates the domain, as ibv_dealloc_pd; no object can be created in it afterwards.
// It fails while the domain has regions, memory windows, queue pairs or shared receive queues.
// Address handles do not prevent it: no queue pair remains that could use them. Deallocating it
// again has no effect.
func (p *PD) Dealloc() error {
	err := p.pd.Dealloc()
	if err == nil {
		p.ctx.dev.owners.Delete(p.pd.ID)
	}
	return p.deregisterUnless(err)
}

// Domain returns the domain as a value of package mr, for the [RecvSource] of a queue pair.
func (p *PD) Domain() *mr.PD { return p.pd }
