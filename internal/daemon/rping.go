package daemon

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/internal/rping"
)

const (
	// maxPingers is how many rping clients a device serves at a time; each costs 64 KiB.
	maxPingers = 256
	// keepAlive is how often a peer is looked for that says nothing.
	keepAlive = 10 * time.Second
)

// Rping answers rping clients on every device.
type Rping struct {
	serving sync.WaitGroup
}

// Start listens on every device.
func (p *Rping) Start(ctx context.Context, d *Daemon) error {
	if !d.Plan().Rping.Enabled {
		return nil
	}
	var listeners []*gorxe.Listener
	for _, dev := range d.Devices() {
		l, err := dev.Listen(gorxe.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, uint16(d.Plan().Rping.Port)), 0)
		if err != nil {
			for _, l := range listeners {
				// The error of the other is what counts.
				_ = l.Close()
			}
			return err
		}
		listeners = append(listeners, l)
		s := &rping.Server{PD: dev.AllocPD(), KeepAlive: keepAlive}
		p.serving.Go(func() { p.accept(ctx, d, l, s) })
	}
	return nil
}

// accept serves who comes until the listener is closed.
func (p *Rping) accept(ctx context.Context, d *Daemon, l *gorxe.Listener, s *rping.Server) {
	places := make(chan struct{}, maxPingers)
	for {
		r, err := l.Next(ctx)
		if err != nil {
			return
		}
		log := d.Log().With("service", "rping", "peer", r.Remote().String())
		select {
		case places <- struct{}{}:
		default:
			log.Warn("refused: too many clients", "most", maxPingers)
			// An error says that it has given up itself.
			_ = r.Reject(nil)
			continue
		}
		p.serving.Go(func() {
			defer func() { <-places }()
			log.Debug("connected")
			if err := s.Serve(ctx, r); err != nil && !errors.Is(err, context.Canceled) {
				log.Info("ended early", "error", err)
				return
			}
			log.Debug("ended")
		})
	}
}

// Drain waits until all clients are gone: the devices have told them.
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
