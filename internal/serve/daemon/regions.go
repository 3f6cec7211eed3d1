package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/region"
	"github.com/gorxe/gorxe/verbs"
)

// Regions exports the regions of the plan on every device.
type Regions struct {
	serving sync.WaitGroup

	mu       sync.Mutex
	exports  []*exports
	memories []*hostmem.Memory
}

// exports holds the regions of one device.
type exports struct {
	dev      *verbs.Device
	server   *region.Server
	listener *verbs.Listener
}

// Start opens the memory of each region, and exports it on every device.
func (p *Regions) Start(ctx context.Context, d *Daemon) error {
	plan := d.Plan()
	if len(plan.Regions) == 0 {
		return nil
	}
	err := p.start(ctx, d, plan)
	if err != nil {
		err = errors.Join(err, p.Drain(ctx))
	}
	return err
}

func (p *Regions) start(ctx context.Context, d *Daemon, plan *Plan) error {
	var all []region.Export
	for i := range plan.Regions {
		r := &plan.Regions[i]
		e, err := p.open(r)
		if err != nil {
			return fmt.Errorf("region %s: %w", r.Name, err)
		}
		all = append(all, e)
	}
	for _, dev := range d.Devices() {
		s := region.NewServer(dev, region.Options{
			MaxConns: plan.Export.MaxConns, MaxPerPeer: plan.Export.MaxPerPeer, KeepAlive: keepAlive,
			Log: d.PeerLog().With("service", "region"),
		})
		x := &exports{dev: dev, server: s}
		p.mu.Lock()
		p.exports = append(p.exports, x)
		p.mu.Unlock()
		for _, e := range all {
			if err := s.Export(e); err != nil {
				return err
			}
			d.Log().Info("exported", "service", "region", "device", dev.Name(), "region", e.Name, "kind", e.Kind,
				"length", e.Memory.Size(), "access", e.Access.String())
		}
		l, err := dev.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, uint16(plan.Export.Port)), 0)
		if err != nil {
			return err
		}
		x.listener = l
		// Serve ends with the listener or with the error of ctx.
		p.serving.Go(func() { _ = s.Serve(ctx, l) })
	}
	return nil
}

// open opens the memory of a region.
func (p *Regions) open(r *config.Region) (region.Export, error) {
	access, err := region.ParseAccess(r.Access)
	if err != nil {
		return region.Export{}, err
	}
	m, err := openMemory(r)
	if err != nil {
		return region.Export{}, err
	}
	p.mu.Lock()
	p.memories = append(p.memories, m)
	p.mu.Unlock()
	return region.Export{Name: r.Name, Kind: r.Kind, Memory: m, Access: access, Peers: r.Peers}, nil
}

// Drain ends all connections and closes the memory of the regions.
func (p *Regions) Drain(ctx context.Context) error {
	p.mu.Lock()
	all, memories := p.exports, p.memories
	p.exports, p.memories = nil, nil
	p.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, x := range all {
		closing.Go(func() {
			if x.listener != nil {
				errs[i] = x.listener.Close()
			}
			errs[i] = errors.Join(errs[i], x.server.Close(ctx))
		})
	}
	closing.Wait()
	p.serving.Wait()
	for _, m := range memories {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// count calls f with the counters of a device.
func (p *Regions) count(dev *verbs.Device, f func(name string, value uint64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.exports {
		if x.dev == dev {
			c := x.server.Counts()
			c.Each(f)
		}
	}
}

// describe returns the regions of all devices.
func (p *Regions) describe() []control.Region {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []control.Region{}
	for _, x := range p.exports {
		for _, i := range x.server.Regions() {
			r := control.Region{
				Device: x.dev.Name(), Name: i.Name, Kind: i.Kind, Length: i.Length, Access: i.Access.Names(),
				Peers: i.Peers, Connections: i.Conns,
			}
			if r.Peers == nil {
				r.Peers = []netip.Prefix{}
			}
			if m, ok := i.Memory.(*hostmem.Memory); ok {
				if i.Kind != "anonymous" {
					r.Path = m.Name()
				}
				if err := m.Err(); err != nil {
					r.Error = err.Error()
				}
			}
			out = append(out, r)
		}
	}
	return out
}
