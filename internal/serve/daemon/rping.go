package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/internal/serve/rping"
	"github.com/gorxe/gorxe/verbs"
)

// keepAlive is the interval in which a silent peer is checked.
const keepAlive = 10 * time.Second

// Rping answers rping clients on every device.
type Rping struct {
	serving sync.WaitGroup

	mu      sync.Mutex
	clients map[*verbs.Device]*rpingClients
}

// Start listens on every device.
func (p *Rping) Start(ctx context.Context, d *Daemon) error {
	if !d.Plan().Rping.Enabled {
		return nil
	}
	var listeners []*verbs.Listener
	for _, dev := range d.Devices() {
		l, err := dev.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, uint16(d.Plan().Rping.Port)), 0)
		if err != nil {
			for _, l := range listeners {
				// The error of the other listener is returned.
				_ = l.Close()
			}
			return err
		}
		listeners = append(listeners, l)
		s := &rping.Server{PD: dev.AllocPD(), KeepAlive: keepAlive}
		c := newRpingClients()
		p.mu.Lock()
		if p.clients == nil {
			p.clients = map[*verbs.Device]*rpingClients{}
		}
		p.clients[dev] = c
		p.mu.Unlock()
		p.serving.Go(func() { p.accept(ctx, d, l, s, c) })
	}
	return nil
}

// accept serves clients until the listener is closed.
func (p *Rping) accept(ctx context.Context, d *Daemon, l *verbs.Listener, s *rping.Server, c *rpingClients) {
	for {
		r, err := l.Next(ctx)
		if err != nil {
			return
		}
		host := r.RemoteGID().Addr()
		asking, giveUp := context.WithCancelCause(ctx)
		place, answered := c.enter(host, func() { giveUp(quota.ErrEvicted) })
		if place == nil {
			giveUp(nil)
			// Clients control how often this happens, so it is counted, and the log is
			// rate-limited.
			refuse := r.Ignore
			if answered {
				d.PeerLog().Debug("refused: too many clients", "service", "rping", "peer", r.Remote().String(),
					"most", maxRpingClients, "most_of_a_host", maxRpingClientsOfHost)
				refuse = func() error { return r.Reject(nil) }
			}
			// The error is ignored: it means that the client has given up.
			_ = refuse()
			continue
		}
		p.serving.Go(func() {
			defer giveUp(nil)
			log := d.PeerLog().With("service", "rping", "peer", r.Remote().String())
			log.Debug("asks")
			s := *s
			s.Connected = func() bool { return c.connected(place) }
			place.Wait()
			err := s.Serve(asking, r)
			c.leave(place, err)
			switch {
			case err == nil, errors.Is(err, context.Canceled):
				log.Debug("ended")
			case errors.Is(err, rping.ErrNotConnected):
				log.Debug("not connected", "error", err)
			default:
				log.Info("ended early", "error", err)
			}
		})
	}
}

// count calls f with the counters of a device.
func (p *Rping) count(dev *verbs.Device, f func(name string, value uint64)) {
	p.mu.Lock()
	c := p.clients[dev]
	p.mu.Unlock()
	if c != nil {
		c.each(f)
	}
}

// Drain waits until all clients have ended; the devices have notified them.
func (p *Rping) Drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		p.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
