package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/host/netns"
	"github.com/gorxe/gorxe/internal/serve/broker"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/ucma"
	"github.com/gorxe/gorxe/internal/serve/uverbs"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// Programs executes the calls of programs under 'gorxe run' on all devices.
type Programs struct {
	now atomic.Pointer[programs] // nil while there is no socket
}

// programs is the immutable state of Programs while it runs.
type programs struct {
	socket   string
	listener net.Listener
	broker   *broker.Server
	servers  []io.Closer // of the device files, in the order in which they are closed
	serving  sync.WaitGroup
}

// Start opens the socket.
func (p *Programs) Start(_ context.Context, d *Daemon) error {
	c := &d.Plan().Programs
	if !c.Enabled || d.opts.Programs == nil {
		return nil
	}
	ns, err := netns.ID()
	if err != nil {
		return err
	}
	l, err := d.opts.Programs(c.Socket, c.Mode, d.Plan().ProgramsGID)
	switch {
	case errors.Is(err, control.ErrInUse):
		return fmt.Errorf("%w: stop that program, or give this daemon another socket with --programs-socket", err)
	case err != nil:
		return err
	}
	now := &programs{socket: c.Socket, listener: l}
	var devices []broker.Device
	for _, dev := range d.Devices() {
		files, err := now.serve(dev)
		if err != nil {
			return errors.Join(err, l.Close(), now.closeServers())
		}
		devices = append(devices, broker.Device{
			Describe: func() broker.Description { return broker.Describe(dev) },
			Files:    files,
		})
	}
	now.broker = broker.NewServer(broker.Config{
		Devices: devices, Log: d.PeerLog().With("service", "programs"), NetNS: ns, Idle: c.IdleTimeout,
		OnIdle: func() {
			d.Log().Info("no program is left", "idle", c.IdleTimeout.String())
			d.stop()
		},
	})
	p.now.Store(now)
	now.serving.Go(func() { now.broker.Serve(l) })
	return nil
}

// Drain ends all objects of programs: their calls fail from then on.
func (p *Programs) Drain(ctx context.Context) error {
	now := p.now.Load()
	if now == nil {
		return nil
	}
	err := now.listener.Close()
	now.serving.Wait()
	return errors.Join(err, now.broker.Close(ctx), now.closeServers())
}

// serve creates the servers of a device. A program sees one device, whose rdma_cm makes its
// connections.
func (p *programs) serve(dev *verbs.Device) (map[broker.File]broker.Service, error) {
	u, err := uverbs.New(dev)
	if err != nil {
		return nil, err
	}
	c, err := ucma.New(dev)
	if err != nil {
		return nil, errors.Join(err, u.Close())
	}
	p.servers = append(p.servers, c, u) // connections end before their queue pairs
	return map[broker.File]broker.Service{broker.Verbs: verbsService{u}, broker.CM: cmService{c}}, nil
}

func (p *programs) closeServers() error {
	var errs []error
	for _, s := range p.servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// event notifies programs of an event of a device.
func (p *Programs) event(dev *verbs.Device, e verbs.AsyncEvent) {
	now := p.now.Load()
	if now == nil {
		return
	}
	switch e.Type {
	case verbs.EventPortActive, verbs.EventPortErr, verbs.EventGIDChange:
		now.broker.Changed(dev.Name())
	}
}

// describe adds the programs to a status.
func (p *Programs) describe(s *control.Status) {
	now := p.now.Load()
	if now == nil {
		return
	}
	s.ProgramsSocket = now.socket
	for _, x := range now.broker.Programs() {
		s.Programs = append(s.Programs, control.Program{
			Program: x.Owner, User: x.UID, Device: x.Device, Contexts: x.Contexts,
		})
	}
	slices.SortFunc(s.Programs, func(a, b control.Program) int { return cmp.Compare(a.Program, b.Program) })
}

// verbsService serves /dev/infiniband/uverbs0.
type verbsService struct{ server *uverbs.Server }

// Open implements [broker.Service].
func (s verbsService) Open(space broker.CallerMemory) (broker.Object, error) {
	c, err := s.server.Open(space)
	if err != nil {
		return nil, err
	}
	return &verbsFile{c}, nil
}

// verbsFile is an open /dev/infiniband/uverbs0.
type verbsFile struct{ *uverbs.Context }

// Program implements [broker.Object].
func (f *verbsFile) Program(use func(fd int) error) error { return f.File().Program(use) }

// Drop implements [broker.Object].
func (f *verbsFile) Drop() error { return f.File().Drop() }

// Call implements [broker.Object]. No verbs call blocks for long.
func (f *verbsFile) Call(_ context.Context, from broker.Caller, c broker.Call) (int64, error) {
	switch {
	case c.Write: // doorbells are written natively
		return 0, fmt.Errorf("a write to a device of verbs: %w", uapi.EINVAL)
	case c.Cmd != uapi.VerbsIoctl:
		return 0, fmt.Errorf("ioctl %#x: %w", c.Cmd, uapi.ENOTTY)
	}
	return 0, f.Ioctl(from, c.Arg)
}
