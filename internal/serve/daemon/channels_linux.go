package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/internal/serve/broker"
	"github.com/gorxe/gorxe/internal/serve/ucma"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// cmService serves /dev/infiniband/rdma_cm for one device.
type cmService struct{ server *ucma.Server }

// Open implements [broker.Service].
func (s cmService) Open(space broker.CallerMemory) (broker.Object, error) {
	ch, err := s.server.Open(func(*ucma.Channel) {
		_ = space.Close() // the descriptors of the program's memory were open
	})
	if err != nil {
		return nil, errors.Join(err, space.Close())
	}
	return &cmFile{ch, space}, nil
}

// cmFile is an open /dev/infiniband/rdma_cm.
type cmFile struct {
	*ucma.Channel
	space broker.CallerMemory
}

// Drop implements [broker.Object]. A channel ends with the last descriptor of its file, in any
// process.
func (f *cmFile) Drop() error { return nil }

// Call implements [broker.Object]. A call that waits for an event ends with EINTR when ctx ends.
func (f *cmFile) Call(ctx context.Context, from broker.Caller, c broker.Call) (int64, error) {
	if !c.Write {
		return 0, fmt.Errorf("ioctl %#x: %w", c.Cmd, uapi.ENOTTY)
	}
	done := make(chan error, 1)
	w := &writer{CallerMemory: f.space, from: from, call: &c, interrupt: ctx}
	f.Write(w, c.Data, func(err error) { done <- err })
	err := <-done
	switch {
	case errors.Is(err, ucma.ErrInterrupted):
		return 0, uapi.EINTR
	case err != nil:
		return 0, err
	}
	return int64(c.Size), nil
}

// writer is a thread of a program that writes a command, for package ucma.
type writer struct {
	broker.CallerMemory
	from      broker.Caller
	call      *broker.Call
	interrupt context.Context
}

// Read implements [ucma.Caller].
func (w *writer) Read(addr uint64, p []byte) error { return w.CallerMemory.Read(p, addr) }

// Write implements [ucma.Caller].
func (w *writer) Write(addr uint64, p []byte) error { return w.CallerMemory.Write(p, addr) }

// NonBlocking implements [ucma.Caller].
func (w *writer) NonBlocking() bool { return w.call.NonBlock }

// OnInterrupt implements [ucma.Caller]. The context w.interrupt is done when the call is
// interrupted, at the latest when it ends, so f is called at the latest then.
func (w *writer) OnInterrupt(f func()) { context.AfterFunc(w.interrupt, f) }

// Channel implements [ucma.Caller].
func (w *writer) Channel(fd int32) *ucma.Channel {
	if f, ok := w.from.Object(fd).(*cmFile); ok {
		return f.Channel
	}
	return nil
}

// QP implements [ucma.Caller].
func (w *writer) QP(n verbs.QPN) *verbs.QP {
	for _, o := range w.from.Opened() {
		if f, ok := o.(*verbsFile); ok {
			if q := f.QP(n); q != nil {
				return q
			}
		}
	}
	return nil
}
