package soak

import (
	"context"
	"io"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// stream is a capture without end that is checked while it runs. Only the latest frames are kept.
type stream struct {
	dump *machine.Tcpdump
	w    *io.PipeWriter
	over chan struct{}

	recent     recent
	rxe, gorxe numbering // requests of rxe and of gorxe
	untimed    timerLoss
	sum        icrc.Summary
	err        error
}

const streamEnd = 30 * time.Second // for tcpdump to end

// startStream starts a capture of a lane and returns when it captures packets.
func startStream(ctx context.Context, l *machine.Lane) (*stream, error) {
	r, w := io.Pipe()
	c := &stream{w: w, over: make(chan struct{})}
	theirs := slices.Collect(maps.Values(l.Rxe.Addr))
	go func() {
		defer close(c.over)
		c.sum, c.err = icrc.Observe(r,
			icrc.Observer{Frame: c.recent.keep, Packet: func(from netip.Addr, packet []byte) {
				now := time.Now()
				if slices.Contains(theirs, from) {
					c.rxe.see(now, packet)
					c.untimed.request(now, packet)
				} else {
					c.gorxe.see(now, packet)
					c.untimed.response(packet)
				}
			}})
		// Discard the rest after an error, so that the connection to the machine does not block.
		_, _ = io.Copy(io.Discard, r)
	}()
	var err error
	if c.dump, err = l.Dump(ctx, w, "udp", "port", "4791"); err != nil {
		return nil, err
	}
	return c, nil
}

// finish ends the capture and returns its summary and the number of frames that the kernel
// dropped because tcpdump was too slow.
func (c *stream) finish() (sum icrc.Summary, missed int, err error) {
	_ = c.dump.Signal(vm.Interrupt)
	select {
	case <-c.dump.Done():
	case <-time.After(streamEnd):
		_ = c.dump.Signal(vm.Kill)
	}
	c.w.Close()
	<-c.over
	return c.sum, c.dump.Dropped(), c.err
}
