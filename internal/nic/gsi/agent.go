// Package gsi implements queue pair 1 of a device, the general services interface, and runs the
// connection manager (package cm) over it.
package gsi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/internal/nic/signal"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Agent is queue pair 1 of a device with the connection manager that uses it.
//
// It has two goroutines: one receives, the other serves timeouts and passes events to the
// program. Both end with the device.
//
// mu guards the manager. It is taken before any shard's lock. Code that holds a shard's lock
// reports to the manager through arrived, whose own lock is the last in the locking order.
type Agent struct {
	dev    *nic.Device
	qp     *nic.QP
	cq     *nic.CQ
	pd     *mr.PD
	mem    []byte
	lkey   uint32
	recvs  []qp.RecvWR
	handle func(*cm.Event)

	mu      sync.Mutex
	manager *cm.Manager // guarded by mu
	unsent  uint64      // MADs that could not be posted; guarded by mu
	foreign uint64      // dropped datagrams: not from a queue pair 1, or not answerable; guarded by mu
	wr      qp.SendWR   // scratch; guarded by mu
	out     cm.Outgoing // scratch; guarded by mu

	lastUnsent transport.Time // time of the latest log message about unsent MADs, 0: never; guarded by mu

	arrived   arrivals
	wakeServe signal.Signal // wakes the goroutine that serves timeouts and events
	taken     signal.Signal // wakes the receiving goroutine: the program has taken an event
}

// maxEvents is the maximum number of events that wait for the program. While there are more, the
// agent does not read queue pair 1, and messages that find no receive are dropped and counted. The
// limit on half-open connections does not replace this one: a peer that repeatedly requests
// connections and gives up causes events but leaves no half-open connections.
const maxEvents = 4096

const (
	// gsiDepth is the number of MADs that can wait for the receiving goroutine (see
	// [nic.QP.ShareReceives]), or half as many if all come from one peer.
	gsiDepth = 1024
	// gsiSendDepth is the number of MADs that can wait to be sent.
	gsiSendDepth = 512
	// gsiBatch is the number of MADs read before answers are sent.
	gsiBatch = 64
)

// gsiReads is the rate at which MADs are read: 5,000 per second and processor, in bursts of up to
// gsiDepth. A REQ costs about 20 µs of processor time, including a rejection by the program, so a
// flood takes a tenth of a processor. MADs beyond this rate find no receive and cost a tenth as
// much; admit.FairShare drops those of the hosts that send most. A connection takes three MADs at
// each end.
func gsiReads() pace.Rate {
	return pace.Rate{Burst: gsiDepth, Interval: 200 * time.Microsecond / time.Duration(runtime.GOMAXPROCS(0))}
}

// logInterval is the minimum time between two log messages about messages that were not sent.
const logInterval = transport.Time(time.Second)

const bufferLen = transport.GRHLen + mad.Len

// Open starts the connection manager of d, which may have only one. One goroutine calls handle
// for each event, with no lock held; handle may call Do.
func Open(d *nic.Device, cfg cm.Config, handle func(*cm.Event)) (*Agent, error) {
	g := &Agent{
		dev: d, pd: &mr.PD{}, mem: make([]byte, gsiDepth*bufferLen), handle: handle,
		manager: cm.New(cfg), wakeServe: signal.New(), taken: signal.New(),
	}
	g.arrived.wakeServe = g.wakeServe
	if err := g.open(); err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	// The device closes its completion queues only after its goroutines have ended, so serve
	// cancels ctx to end receive.
	ctx, cancel := context.WithCancel(context.Background())
	d.Go(func() { g.receive(ctx) })
	d.Go(func() {
		defer cancel()
		g.serve()
	})
	return g, nil
}

func (g *Agent) open() error {
	region, err := g.dev.Register(g.pd, mr.Bytes(g.mem), 0, uint64(len(g.mem)), mr.LocalWrite)
	if err != nil {
		return err
	}
	g.lkey = region.LKey()
	if g.cq, err = g.dev.CreateCQ(gsiDepth + gsiSendDepth); err != nil {
		return errors.Join(err, g.dev.Deregister(region))
	}
	g.qp, err = g.dev.CreateQP(nic.QPInit{
		Type: qp.GSI, PD: g.pd, SendCQ: g.cq, RecvCQ: g.cq,
		Cap: qp.Cap{MaxSendWR: gsiSendDepth, MaxRecvWR: gsiDepth, MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: mad.Len},
	})
	if err != nil {
		return errors.Join(err, g.cq.Close(), g.dev.Deregister(region))
	}
	for _, step := range []qp.Attr{{State: qp.INIT, QKey: transport.GSIQKey}, {State: qp.RTR}, {State: qp.RTS}} {
		needs, _, _ := qp.Requirements(qp.GSI, g.qp.State(), step.State)
		if err := g.qp.Modify(&step, needs|qp.AttrState); err != nil {
			return err
		}
	}
	g.recvs = make([]qp.RecvWR, gsiDepth)
	all := make([]*qp.RecvWR, gsiDepth)
	for i := range g.recvs {
		g.recvs[i] = qp.RecvWR{ID: uint64(i),
			SGList: []qp.SGE{{Addr: uint64(i) * bufferLen, Length: bufferLen, LKey: g.lkey}}}
		all[i] = &g.recvs[i]
	}
	g.qp.ShareReceives(gsiDepth)
	_, err = g.qp.PostRecv(all)
	return err
}

// receive handles the datagrams of queue pair 1 until the device closes.
func (g *Agent) receive(ctx context.Context) {
	wcs := make([]qp.WC, gsiBatch)
	var reads pace.Bucket
	rate, pause := gsiReads(), time.NewTimer(time.Hour)
	defer pause.Stop()
	for {
		n, err := g.cq.Wait(ctx, wcs)
		if err != nil {
			return
		}
		if wait := reads.Wait(rate, time.Now(), n); wait > 0 {
			pause.Reset(wait)
			select {
			case <-pause.C:
			case <-ctx.Done():
				return
			}
		}
		reads.Take(rate, time.Now(), n)
		g.mu.Lock()
		for i := range wcs[:n] {
			g.handleCompletion(&wcs[i])
		}
		g.repost(wcs[:n])
		g.done()
		for g.manager.Events() >= maxEvents {
			g.mu.Unlock()
			select {
			case <-g.taken:
			case <-ctx.Done():
				return
			}
			g.mu.Lock()
		}
		g.mu.Unlock()
	}
}

// handleCompletion passes a received message to the manager. g.mu is held.
func (g *Agent) handleCompletion(wc *qp.WC) {
	if wc.Opcode == qp.WCRecv && wc.Status == qp.WCSuccess {
		g.receiveMAD(wc, g.buffer(wc.WRID))
	}
}

// buffer returns the buffer of receive i.
func (g *Agent) buffer(i uint64) []byte { return g.mem[i*bufferLen:][:bufferLen] }

// repost reposts the receives that were read and lets their senders send more.
func (g *Agent) repost(wcs []qp.WC) {
	var wrs [gsiBatch]*qp.RecvWR
	var senders [gsiBatch]netip.Addr
	n, known := 0, 0
	for i := range wcs {
		wc := &wcs[i]
		if wc.Opcode != qp.WCRecv || wc.Status == qp.WCWRFlushErr {
			continue
		}
		// The device wrote this header on arrival.
		if src, _, _, err := (*transport.GRH)(g.buffer(wc.WRID)).Origin(); err == nil {
			senders[known] = src
			known++
		}
		wrs[n] = &g.recvs[wc.WRID]
		n++
	}
	g.qp.ReceivesRead(senders[:known])
	// PostRecv fails once the device closes, and then the next Wait fails too.
	_, _ = g.qp.PostRecv(wrs[:n])
}

func (g *Agent) receiveMAD(wc *qp.WC, b []byte) {
	av, err := g.dev.ReplyVector((*transport.GRH)(b))
	if err != nil || wc.SrcQP != bth.GSI || wc.ByteLen < transport.GRHLen {
		g.foreign++
		return
	}
	g.manager.Receive(g.now(), cm.Peer{SGIDIndex: av.SGIDIndex, GID: av.DGID}, b[transport.GRHLen:wc.ByteLen])
}

// serve calls the manager when a timeout is due, and passes events to the program.
func (g *Agent) serve() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var event cm.Event
	for {
		select {
		case <-g.dev.Done():
			return
		case <-timer.C:
		case <-g.wakeServe:
		}
		g.mu.Lock()
		for _, id := range g.arrived.take() {
			g.manager.CommEst(g.now(), id)
		}
		g.manager.Timeout(g.now())
		g.send()
		wait := time.Hour
		if at, ok := g.manager.NextTimeout(); ok {
			wait = time.Duration(at - g.now())
		}
		timer.Reset(wait)
		events := g.manager.Events()
		g.mu.Unlock()
		// Events that are added meanwhile wait for the next iteration: timeouts come first.
		for range events {
			if g.next(&event) {
				g.handle(&event)
			}
		}
		for _, call := range g.arrived.takeCalls() {
			call()
		}
	}
}

// next removes the oldest event and stores it in e; it returns false if there is none.
func (g *Agent) next(e *cm.Event) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok := g.manager.NextEvent(e)
	g.taken.Wake()
	return ok
}

// Do calls f with exclusive access to the manager, and sends the messages that f causes. Once the
// device closes, it returns [nic.ErrClosed] without calling f.
func (g *Agent) Do(f func(now cm.Time, m *cm.Manager) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dev.Closing() {
		return nic.ErrClosed
	}
	defer g.done()
	return f(g.now(), g.manager)
}

// Counters calls f for each counter of the manager and of the agent.
func (g *Agent) Counters(f func(name string, value uint64)) {
	g.mu.Lock()
	c, unsent, foreign := *g.manager.Counters(), g.unsent, g.foreign
	g.mu.Unlock()
	c.Each(f)
	f("cm_unsent", unsent)
	f("cm_foreign", foreign)
}

// Conns returns the connections of the manager at one moment, in order of creation.
func (g *Agent) Conns() []cm.ConnInfo {
	g.mu.Lock()
	list := slices.Collect(g.manager.All())
	g.mu.Unlock()
	slices.SortFunc(list, func(a, b cm.ConnInfo) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Now returns the current time on the clock of [cm.ConnInfo] times.
func (g *Agent) Now() cm.Time { return g.now() }

func (g *Agent) now() cm.Time { return cm.Time(g.dev.Now()) }

// done sends the manager's messages and wakes serve for timeouts and events. g.mu is held.
func (g *Agent) done() {
	g.send()
	g.wakeServe.Wake()
}

// send posts the manager's MADs. A MAD that cannot be posted is lost, as any datagram can be.
func (g *Agent) send() {
	for g.manager.NextSend(&g.out) {
		ah, err := g.dev.CreateAH(g.pd,
			qp.AddressVector{DGID: g.out.Peer.GID, SGIDIndex: g.out.Peer.SGIDIndex, HopLimit: packet.DefaultHopLimit})
		if err == nil {
			g.wr = qp.SendWR{
				Opcode: qp.WRSend, Flags: qp.Inline, InlineData: g.out.MAD[:],
				AH: ah, RemoteQPN: bth.GSI, RemoteQKey: transport.GSIQKey,
			}
			_, err = g.qp.PostSend([]*qp.SendWR{&g.wr})
		}
		if err != nil {
			g.lost(err)
		}
	}
}

// lost records a message that was not sent. It logs at most one message per logInterval, because
// peers choose the addresses that messages are sent to. g.mu is held.
func (g *Agent) lost(err error) {
	g.unsent++
	if now := g.dev.Now(); g.lastUnsent == 0 || now-g.lastUnsent >= logInterval {
		g.lastUnsent = now
		g.dev.Logger().Warn("a message of the connection manager was not sent", "device", g.dev.Name(), "to",
			g.out.Peer.GID, "error", err, "messages", g.unsent)
	}
}

// OnFirstPacket reports to the manager when the first packet for q, the queue pair of connection
// id, arrives; see [cm.Manager.CommEst].
func (g *Agent) OnFirstPacket(q *nic.QP, id mad.CommID) {
	q.OnFirstPacket(func() { g.arrived.add(id) })
}

// OnFailure arranges that call is called when q fails, by the goroutine that passes events to the
// program, with no lock held.
func (g *Agent) OnFailure(q *nic.QP, call func()) {
	q.OnFailure(func() { g.arrived.later(call) })
}

// arrivals has the connections whose queue pairs have received their first packet, and the calls
// of OnFailure.
type arrivals struct {
	mu        sync.Mutex
	ids       []mad.CommID
	calls     []func() // of queue pairs that have failed
	wakeServe signal.Signal
}

func (a *arrivals) add(id mad.CommID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = append(a.ids, id)
	a.wakeServe.Wake()
}

func (a *arrivals) take() []mad.CommID {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := a.ids
	a.ids = nil
	return ids
}

// later arranges that call is called by the goroutine that passes events to the program.
func (a *arrivals) later(call func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	a.wakeServe.Wake()
}

// takeCalls removes and returns the pending calls.
func (a *arrivals) takeCalls() []func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}
