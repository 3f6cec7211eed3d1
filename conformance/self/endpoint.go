package self

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/verbs"
)

// endpoint is the device of a world. It implements conformance.Device.
type endpoint struct{ w *world }

// Open implements conformance.Device.
func (e endpoint) Open(ctx context.Context, p conformance.Program, local conformance.Local) (conformance.Peer, error) {
	w := e.w
	if p == conformance.RPing || p == conformance.CMServer {
		return w.openService(ctx, p)
	}
	s, ok := settingsOf(p, local)
	if !ok {
		return nil, conformance.ErrUnsupported
	}
	w.mu.Lock()
	w.begin()
	if w.hooks.tune != nil {
		w.hooks.tune(&s)
	}
	w.mu.Unlock()
	g := &program{w: w, settings: s, ctx: w.device.OpenContext(verbs.ContextLimits{})}
	if err := g.open(local); err != nil {
		w.mu.Lock()
		w.programs--
		w.mu.Unlock()
		return nil, errors.Join(err, g.ctx.Close())
	}
	g.flow = newFlow(local, g.target, services[s.kind])
	w.mu.Lock()
	w.flows[g.target.QPN], w.local[local.QPN] = g.flow, g.flow
	w.mu.Unlock()
	// The program ends with Close, not with the context of the handshake.
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop, g.run = stop, run
	if !s.sends {
		g.wg.Go(func() { g.serve(run) })
	}
	if s.polls {
		g.wg.Go(func() { g.poll(run) })
	}
	return g, nil
}

// program is a program of the endpoint, connected to the tester. It implements conformance.Peer.
type program struct {
	settings
	w      *world
	ctx    *verbs.Context
	pd     *verbs.PD
	cq     *verbs.CQ
	qp     *verbs.QP
	mr     *verbs.MR
	mem    *memory   // of mr
	recv   *verbs.MR // memory of the receives
	ah     *verbs.AH // of the tester, of a UD queue pair
	target conformance.Target
	flow   *flow
	local  conformance.Local

	run  context.Context
	stop func()
	wg   sync.WaitGroup
	once sync.Once

	mu  sync.Mutex // guards out
	out bytes.Buffer
}

// maxOutput is the maximum length of the output of a program in bytes.
const maxOutput = 64 << 10

// queueDepth is the capacity of the queues of a program in work requests.
const queueDepth = 512

// open creates the objects of the program and connects them to the tester.
func (g *program) open(local conformance.Local) (err error) {
	g.local = local
	if g.pd, err = g.ctx.AllocPD(); err != nil {
		return err
	}
	if g.cq, err = g.ctx.CreateCQ(2 * queueDepth); err != nil {
		return err
	}
	g.qp, err = g.pd.CreateQP(verbs.QPInitAttr{Type: g.kind, SendCQ: g.cq, Cap: verbs.QPCap{MaxSendWR: queueDepth,
		MaxRecvWR: queueDepth, MaxSendSGE: 1, MaxRecvSGE: 1}})
	if err != nil {
		return err
	}
	n := max(g.length+g.spare, uint64(g.clientLen), uint64(g.recvLen))
	access := g.region | verbs.LocalWrite
	if g.polls {
		g.mem = &memory{b: make([]byte, n)}
		g.mr, err = g.pd.RegMemory(g.mem, access, verbs.WithRandomIOVA())
	} else {
		g.mr, err = g.pd.RegMR(make([]byte, n), access, verbs.WithRandomIOVA())
	}
	if err != nil {
		return err
	}
	mine, err := g.qp.Local(0, verbs.RandomPSN())
	if err != nil {
		return err
	}
	g.target = conformance.Target{Addr: deviceAddr, QPN: mine.QPN, PSN: mine.PSN, MTU: int(g.attr.PathMTU),
		Receives: g.receives, ReceiveLen: g.recvLen}
	if g.length > 0 {
		g.target.RKey, g.target.VA, g.target.Length = g.mr.RKey(), g.mr.Addr(), g.length
	}
	if g.kind == verbs.UD {
		g.target.QKey = g.qkey
		g.ah, err = g.pd.CreateAH(verbs.AddressVector{DGID: verbs.GID(local.Addr.As16()), HopLimit: 1})
		if err != nil {
			return err
		}
		err = g.qp.StartDatagrams(g.qkey, mine.PSN)
	} else {
		peer := verbs.ConnInfo{QPN: local.QPN, PSN: local.PSN, GID: verbs.GID(local.Addr.As16()), MTU: g.attr.PathMTU}
		err = g.qp.Connect(mine, peer, g.attr)
	}
	if err != nil {
		return err
	}
	if g.polls {
		g.recv, err = g.pd.RegMR(numbered(int(g.length)), 0)
		return err
	}
	return g.postReceives()
}

// postReceives posts the receives of the program, each with memory of its own.
func (g *program) postReceives() (err error) {
	if g.receives == 0 {
		return nil
	}
	slots := g.receives
	if g.shared {
		slots = 1
	}
	if g.recv, err = g.pd.RegMR(make([]byte, slots*g.slot()), verbs.LocalWrite); err != nil {
		return err
	}
	for i := range g.receives {
		if err := g.postReceive(i); err != nil {
			return err
		}
	}
	return nil
}

// slot returns the length of a receive with the network header of a datagram.
func (g *program) slot() int {
	if g.kind == verbs.UD {
		return g.recvLen + verbs.GRHLen
	}
	return g.recvLen
}

func (g *program) postReceive(i int) error {
	off := i * g.slot()
	if g.shared {
		off = 0
	}
	return g.qp.PostRecv(&verbs.RecvWR{ID: uint64(i), SGList: []verbs.SGE{g.recv.SGE(off, g.slot())}})
}

// serve handles the completions of a server until the program ends.
func (g *program) serve(ctx context.Context) {
	var wc [16]verbs.WC
	for {
		n, err := g.cq.Wait(ctx, wc[:])
		if err != nil {
			return
		}
		for i := range wc[:n] {
			if !g.completed(&wc[i]) {
				return
			}
		}
	}
}

// completed handles a completion. It returns false after an error, which ends a stock program.
func (g *program) completed(wc *verbs.WC) bool {
	if wc.Status != verbs.WCSuccess {
		g.printf("Completion with error: %v\n", wc.Status)
		return false
	}
	if wc.Opcode < verbs.WCRecv {
		return true
	}
	if g.repost && g.postReceive(int(wc.WRID)) != nil {
		return false
	}
	if g.echo {
		return g.answer() == nil
	}
	return true
}

// answer sends a message from the memory of the receives.
func (g *program) answer() error {
	wr := verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{g.recv.SGE(g.headLen, g.recvLen)}}
	if g.kind == verbs.UD {
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = g.ah, g.local.QPN, g.qkey
	}
	return g.qp.PostSend(&wr)
}

func (g *program) printf(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.out.Len() < maxOutput {
		fmt.Fprintf(&g.out, format, args...)
	}
}

// Target implements conformance.Peer.
func (g *program) Target() conformance.Target { return g.target }

// Output implements conformance.Peer.
func (g *program) Output() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out.String()
}

// Go implements conformance.Peer.
func (g *program) Go() error {
	if g.sends {
		g.wg.Go(func() { g.send(g.run) })
	}
	return nil
}

// Close implements conformance.Peer.
func (g *program) Close() error {
	var err error
	g.once.Do(func() {
		g.stop()
		g.wg.Wait()
		err = g.ctx.Close()
		g.w.mu.Lock()
		delete(g.w.flows, g.target.QPN)
		delete(g.w.local, g.local.QPN)
		g.w.programs--
		g.w.mu.Unlock()
	})
	return err
}

// send sends the messages of a client.
func (g *program) send(ctx context.Context) {
	wr := &verbs.SendWR{Opcode: g.client, Flags: verbs.Signaled, SGList: []verbs.SGE{g.mr.SGE(0, g.clientLen)},
		RemoteAddr: g.local.VA, RKey: g.local.RKey}
	if g.client == verbs.WRFlush {
		wr.SGList, wr.Flush = nil, verbs.Flush{Length: uint32(g.clientLen), Type: verbs.FlushToGlobal}
	}
	for range g.messages {
		if err := g.qp.PostSend(wr); err != nil {
			g.printf("Couldn't post send: %v\n", err)
			return
		}
	}
	var wc [16]verbs.WC
	for left := g.messages; left > 0; {
		n, err := g.cq.Wait(ctx, wc[:])
		if err != nil {
			return
		}
		for i := range wc[:n] {
			if wc[i].Status != verbs.WCSuccess {
				g.printf("Completion with error at client\nFailed status %d: %v\n", wc[i].Status, wc[i].Status)
				return
			}
		}
		left -= n
	}
	g.printf("%d messages are complete\n", g.messages)
}

// pollInterval is the time between two looks at the last byte of a region.
const pollInterval = 200 * time.Microsecond

// poll sends WRITEs as ib_write_lat does: the first unasked, then each when the last byte of the
// region is the number of the latest one. The last byte of a WRITE is its number modulo 256.
func (g *program) poll(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	size := int(g.length)
	for n := 1; ; n++ {
		err := g.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRWrite, Flags: verbs.Signaled,
			SGList: []verbs.SGE{g.recv.SGE(n%256*size, size)}, RemoteAddr: g.local.VA, RKey: g.local.RKey})
		if err != nil {
			return
		}
		for g.mem.at(size-1) != byte(n) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

// numbered returns 256 blocks of n bytes, of which the last byte is the number of the block.
func numbered(n int) []byte {
	b := make([]byte, 256*n)
	for i := range 256 {
		b[i*n+n-1] = byte(i)
	}
	return b
}

// services are the transport services of the types of queue pairs.
var services = map[verbs.QPType]bth.Service{verbs.RC: bth.ServiceRC, verbs.UC: bth.ServiceUC, verbs.UD: bth.ServiceUD}

// memory is the memory of a region, of which a program may read a byte while the tester writes.
type memory struct {
	mu sync.Mutex
	b  []byte // guarded by mu
}

// Size implements mr.Memory.
func (m *memory) Size() uint64 { return uint64(len(m.b)) }

// ReadAt implements mr.Memory.
func (m *memory) ReadAt(p []byte, off uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	copy(p, m.b[off:])
	return nil
}

// WriteAt implements mr.Memory.
func (m *memory) WriteAt(p []byte, off uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	copy(m.b[off:], p)
	return nil
}

func (m *memory) at(i int) byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.b[i]
}
