package gorxe

import "github.com/gorxe/gorxe/mr"

// AllocPD makes a protection domain: regions and queue pairs of different domains do not
// reach each other.
func (d *Device) AllocPD() *PD {
	return &PD{dev: d, pd: &mr.PD{ID: d.pds.Add(1)}}
}

// PD is a protection domain.
type PD struct {
	dev *Device
	pd  *mr.PD
}

// ID tells the domain apart from the others of its device: 1 for the first, and none comes
// twice.
func (p *PD) ID() uint32 { return p.pd.ID }

// Device returns the device the domain is on.
func (p *PD) Device() *Device { return p.dev }

// Dealloc ends the domain, as ibv_dealloc_pd: nothing can be made in it any more. It refuses one that
// has regions, memory windows, queue pairs or shared receive queues. Address handles are no obstacle:
// no queue pair is left that could use them. Deallocating again does nothing.
func (p *PD) Dealloc() error { return p.pd.Dealloc() }
