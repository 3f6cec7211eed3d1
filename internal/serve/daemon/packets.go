package daemon

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// Limits of the streams of packets.
const (
	maxStreams   = 8
	streamBuffer = 4 << 20 // bytes of packets that wait for a reader
)

// packets distributes the packets of all devices to the trace file and to clients of the control
// socket.
type packets struct {
	version string
	hub     record.Hub
	file    *record.Recorder // nil if there is none
	errors  atomic.Uint64    // errors of the file

	mu      sync.Mutex
	streams int
	ending  chan struct{} // closed when the daemon stops
	ended   bool
}

func newPackets(version string) *packets {
	return &packets{version: "gorxe " + version, ending: make(chan struct{})}
}

func (p *packets) wrap(l packet.Link) packet.Link { return p.hub.Wrap("", l) }

// observer returns the Observer that records work requests and completions in the file, nil
// without a file.
func (p *packets) observer() verbs.Observer {
	if p.file == nil {
		return nil
	}
	return p.file.Observer()
}

// end ends all streams.
func (p *packets) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		close(p.ending)
	}
}

// enter counts a stream. It fails at the limit.
func (p *packets) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams == maxStreams {
		return fmt.Errorf("limit of %d packet streams reached: %w", maxStreams, control.ErrBusy)
	}
	p.streams++
	return nil
}

func (p *packets) leave() {
	p.mu.Lock()
	p.streams--
	p.mu.Unlock()
}

// stream writes the packets from now on to w until ctx ends, the daemon stops or w fails. If peer
// is valid, it writes only packets to and from peer.
func (p *packets) stream(ctx context.Context, w io.Writer, peer netip.Addr) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	failed := make(chan struct{})
	r := record.New(&failing{w, failed, false},
		record.Options{Application: p.version, Buffer: streamBuffer, Keep: keepPeer(peer)})
	p.hub.Add(r)
	select {
	case <-ctx.Done():
	case <-p.ending:
	case <-failed:
	}
	p.hub.Remove(r)
	return r.Close()
}

// failing is a writer that closes the channel failed at its first error. It must be used by one
// goroutine.
type failing struct {
	io.Writer
	failed   chan struct{}
	reported bool
}

func (f *failing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err != nil && !f.reported {
		f.reported = true
		close(f.failed)
	}
	return n, err
}

// keepPeer returns a filter for packets to and from an address, nil if peer is invalid.
func keepPeer(peer netip.Addr) func(packet.Direction, packet.TapFrame) bool {
	if !peer.IsValid() {
		return nil
	}
	peer = peer.Unmap().WithZone("")
	return func(dir packet.Direction, f packet.TapFrame) bool {
		if dir == packet.Outgoing {
			return f.Dst == peer
		}
		return f.Src == peer
	}
}

// startTrace starts the trace file of the plan.
func (d *Daemon) startTrace() (err error) {
	t := &d.plan.Trace
	if t.File == "" {
		return nil
	}
	d.packets.file, err = record.Create(t.File, record.Options{
		Application: d.packets.version, MaxBytes: int64(t.Size), Rotate: true,
		Failed: func(err error) {
			d.packets.errors.Add(1)
			d.log.Error("packets are no longer recorded", "file", t.File, "error", err)
		},
	})
	if err != nil {
		return fmt.Errorf("trace: %w: choose another file with --trace", err)
	}
	d.packets.hub.Add(d.packets.file)
	d.log.Info("trace started", "file", t.File)
	return nil
}

// closeTrace closes the trace file.
func (d *Daemon) closeTrace() error {
	r := d.packets.file
	if r == nil {
		return nil
	}
	d.packets.hub.Remove(r)
	err := r.Close()
	s := r.Stats()
	d.log.Info("trace closed", "file", d.plan.Trace.File, "packets", s.Frames, "missing", s.Lost+s.Refused)
	if err != nil {
		return fmt.Errorf("trace: %w: %d packets are not in it", err, s.Lost+s.Refused)
	}
	return nil
}

// count calls f with the counters of the trace file, if there is one.
func (p *packets) count(f func(name string, value uint64)) {
	if p.file == nil {
		return
	}
	s := p.file.Stats()
	f("trace_errors", p.errors.Load())
	f("trace_packets", s.Frames)
	f("trace_missing_packets", s.Lost+s.Refused)
}
