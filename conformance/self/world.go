package self

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// Addresses of the network in memory. The tester may also send from the second one.
var (
	deviceAddr  = netip.MustParseAddr("192.0.2.1")
	testerAddr  = netip.MustParseAddr("192.0.2.2")
	testerAddr2 = netip.MustParseAddr("192.0.2.3")
)

// linkMTU is the maximum length of an IP packet in bytes: more than that of the largest path MTU.
const linkMTU = 9000

// world is a network in memory with the endpoint and the tester, and a mutant between them.
type world struct {
	net    *pipe.Net
	device *verbs.Device
	links  map[netip.Addr]packet.Link // of the tester
	recv   chan *wire.Received        // to the tester
	done   chan struct{}
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	// programs is the number of open programs.
	programs int
	make     func(*world) hooks
	hooks    hooks
	batch    *packet.Batch
	id       uint16
	flows    map[bth.QPN]*flow // by queue pair of the endpoint
	local    map[bth.QPN]*flow // by queue pair of the tester
	timers   map[*time.Timer]struct{}
	asked    map[uint64]asked // REQs of the tester, by communication ID
}

// hooks are the faults of a mutant. All calls are serialized.
type hooks struct {
	in   func(f *frame)    // of a datagram to the endpoint
	out  func(f *frame)    // of a datagram to the tester
	tune func(s *settings) // of the queue pair of a program, before it is created
}

// receiveQueue is the number of datagrams that wait for the tester.
const receiveQueue = 1 << 15

// newWorld opens a world with the faults that mutant returns.
func newWorld(mutant func(*world) hooks) (*world, error) {
	w := &world{
		net: pipe.NewNet(), links: map[netip.Addr]packet.Link{}, recv: make(chan *wire.Received, receiveQueue),
		done: make(chan struct{}), make: mutant, batch: packet.NewBatch(1), flows: map[bth.QPN]*flow{},
		local: map[bth.QPN]*flow{}, timers: map[*time.Timer]struct{}{},
		asked: map[uint64]asked{},
	}
	w.reset()
	at, err := w.net.Open(deviceAddr, linkMTU)
	if err != nil {
		return nil, err
	}
	w.device, err = verbs.Open(verbs.Config{Links: []packet.Link{at}, Shards: 1, Spin: -1, ConnManager: true})
	if err != nil {
		at.Close()
		return nil, err
	}
	for _, a := range []netip.Addr{testerAddr, testerAddr2} {
		l, err := w.net.Open(a, linkMTU)
		if err != nil {
			w.close()
			return nil, err
		}
		w.links[a] = l
		w.wg.Go(func() { w.fromDevice(l) })
	}
	return w, nil
}

// reset begins the mutant anew.
func (w *world) reset() {
	w.hooks = hooks{}
	if w.make != nil {
		w.hooks = w.make(w)
	}
}

// begin counts a program that opens; the first one begins the mutant anew. w.mu is held.
func (w *world) begin() {
	if w.programs == 0 {
		w.reset()
	}
	w.programs++
}

// close ends the world and waits for its goroutines.
func (w *world) close() error {
	w.mu.Lock()
	already := w.closed
	w.closed = true
	for t := range w.timers {
		t.Stop()
	}
	w.mu.Unlock()
	if already {
		return nil
	}
	close(w.done)
	err := w.device.Close()
	for _, l := range w.links {
		l.Close()
	}
	w.wg.Wait()
	return err
}

// fromDevice passes the endpoint's datagrams to the hook and on to the tester.
func (w *world) fromDevice(l packet.Link) {
	rb := packet.NewRecvBatch(64)
	for {
		if err := l.Recv(rb); err != nil {
			return
		}
		w.mu.Lock()
		for i := range rb.Frames {
			r := &rb.Frames[i]
			f := newFrame(r.Data)
			f.src, f.dst, f.port, f.tos, f.ttl = r.Src, r.Dst, r.SrcPort, r.TrafficClass, r.HopLimit
			f.id, f.flags = r.ID, r.FlagsFragment
			f.checkICRC()
			if f.err == nil {
				w.learn(f)
				if f.flow = w.local[f.DestQP]; f.flow != nil {
					f.flow.outgoing(f)
				}
			}
			if w.hooks.out != nil {
				w.hooks.out(f)
			}
			if !f.dropped {
				w.toTester(f)
			}
		}
		w.mu.Unlock()
	}
}

// toTester sends f to the tester. w.mu is held.
func (w *world) toTester(f *frame) {
	if w.closed {
		return
	}
	data := f.encode()
	r := wire.Receive(f.ip(data))
	if r == nil || !r.V1 && r.Dst.Port() != wire.Port {
		return // the tester's link does not see it
	}
	r.At = time.Now()
	select {
	case w.recv <- r:
	default: // the tester reports a flood earlier
	}
}

// fromTester passes a datagram of the tester to the hook and on to the endpoint.
func (w *world) fromTester(f *frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return net.ErrClosed
	}
	if f.err == nil {
		w.learn(f)
		f.flow = w.flows[f.DestQP]
		if f.flow != nil && f.rcRequest() && f.admitted() {
			f.flow.incoming(f)
		}
	}
	if w.hooks.in != nil {
		w.hooks.in(f)
	}
	if !f.dropped {
		w.toDevice(f)
	}
	return nil
}

// toDevice sends f to the endpoint, unless its headers are wrong. w.mu is held.
func (w *world) toDevice(f *frame) {
	l := w.links[f.src]
	if f.badIP != nil || w.closed || l == nil {
		return
	}
	w.batch.Reset()
	p := w.batch.AppendFrame()
	p.Path = &packet.Path{Src: f.src, Dst: f.dst, TrafficClass: f.tos, HopLimit: f.ttl}
	p.Payload = append(p.Payload, f.encode())
	p.SrcPort, p.ID, p.FlagsFragment = f.port, f.id, f.flags
	_ = l.Send(w.batch) // a datagram that is too long is dropped, as by a network
}

// after calls f with w.mu held after d, unless the world is closed before.
func (w *world) after(d time.Duration, f func()) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.timers, t)
		if !w.closed {
			f()
		}
	})
	w.timers[t] = struct{}{}
}

// reply returns a response of the endpoint to the request f, with a PSN.
func (w *world) reply(f *frame, op bth.Opcode, psn bth.PSN) *frame {
	g := &frame{src: f.dst, dst: f.src, port: 0xc000, ttl: 64, flags: packet.DontFragment}
	w.id++
	g.id = w.id
	g.Packet = bth.Packet{Opcode: op, MigReq: true, PKey: 0xffff, PSN: psn}
	if f.flow != nil {
		g.DestQP = f.flow.local.QPN
	}
	return g
}

// ackFor returns an acknowledgement of the request f with a syndrome.
func (w *world) ackFor(f *frame, psn bth.PSN, s bth.Syndrome, msn uint32) *frame {
	g := w.reply(f, bth.RCAck, psn)
	g.AETH = bth.AETH{Syndrome: s, MSN: msn & 0xffffff}
	return g
}
