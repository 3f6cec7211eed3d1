package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/gorxe/gorxe/internal/serve/respond"
)

// Respond answers perftest and pingpong clients on every device. Its listeners are
// open on all addresses of the host; connections to an address of no device are closed.
type Respond struct {
	r         atomic.Pointer[respond.Responder]
	listeners []net.Listener
	serving   sync.WaitGroup
}

// Start listens on the TCP ports of the plan.
func (p *Respond) Start(ctx context.Context, d *Daemon) error {
	c := d.Plan()
	r := respond.New(d.Devices, respond.Limits{Memory: c.SessionMemory, ForeignGIDs: c.ForeignGIDs,
		Payload: c.Bytes}, d.PeerLog())
	p.r.Store(r)
	tools := map[int][]respond.Kind{}
	if c.Perftest.Enabled {
		tools[c.Perftest.Port] = append(tools[c.Perftest.Port], respond.Perftest)
	}
	if c.Pingpong.Enabled {
		tools[c.Pingpong.Port] = append(tools[c.Pingpong.Port], respond.Pingpong)
	}
	for port, kinds := range tools {
		l, err := d.opts.TCP(":" + strconv.Itoa(port))
		if err != nil {
			p.closeListeners()
			return portError(port, kinds, err)
		}
		p.listeners = append(p.listeners, l)
		p.serving.Go(func() { r.Serve(ctx, l, kinds...) })
	}
	return nil
}

// portError adds a remedy to the error of a port that cannot be used.
func portError(port int, kinds []respond.Kind, err error) error {
	var names, ports, offs []string
	for _, k := range kinds {
		names = append(names, k.String())
		ports = append(ports, "--"+k.String()+"-port")
		offs = append(offs, "--"+k.String()+"=false")
	}
	what := err.Error()
	if errors.Is(err, syscall.EADDRINUSE) {
		what = fmt.Sprintf("TCP port %d is in use", port)
	}
	return fmt.Errorf("service %s: %s: choose another with %s, or do without with %s",
		strings.Join(names, " and "), what, strings.Join(ports, " and "), strings.Join(offs, " "))
}

func (p *Respond) closeListeners() {
	for _, l := range p.listeners {
		// The error is ignored: no client can connect any more.
		_ = l.Close()
	}
	p.serving.Wait()
}

// Drain stops listening and waits for the sessions.
func (p *Respond) Drain(ctx context.Context) error {
	p.closeListeners()
	return p.r.Load().Drain(ctx)
}

// Counters calls f with the counters of the built-in server; there are none before Start.
func (p *Respond) Counters(f func(name string, value uint64)) {
	if r := p.r.Load(); r != nil {
		r.Counters(f)
	}
}
