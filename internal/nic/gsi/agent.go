// Package gsi is queue pair 1 of a device, the general services interface, with the connection manager that speaks over
// it.
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

// Agent is queue pair 1 of a device with the connection manager that speaks over it.
//
// Two goroutines belong to it: one receives, the other serves timeouts and hands events to
// the program. Both end with the device.
//
// mu guards the manager. It is taken before any shard's lock, and never with one held: what a
// machine has to tell the manager goes through arrived, which has a lock of its own that is
// taken last of all.
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
	unsent  uint64      // guarded by mu: MADs that could not be posted
	foreign uint64      // guarded by mu: datagrams that do not come from a queue pair 1
	wr      qp.SendWR   // guarded by mu: scratch
	out     cm.Outgoing // guarded by mu: scratch

	lastUnsent transport.Time // guarded by mu: when the log was told of it, 0 is never

	arrived arrivals
	kick    signal.Signal // wakes the goroutine of timeouts and events
	taken   signal.Signal // wakes the goroutine that receives: events were taken
}

// maxEvents is how many events may wait for the program. Beyond, nothing is taken from queue pair
// 1 until they are gone, and what comes meanwhile and finds no receive is dropped and counted: a
// peer that asks and gives up in turns leaves events, but no half-open connection to count.
const maxEvents = 4096

const (
	// gsiDepth is how many MADs may wait for the receiving goroutine: see [nic.QP.ShareReceives]. Of one peer
	// that is alone it is half as many.
	gsiDepth = 1024
	// gsiSendDepth is how many may wait to be sent.
	gsiSendDepth = 512
	// gsiBatch is how many are read before answers leave.
	gsiBatch = 64
)

// gsiReads is how fast MADs are read: 5,000 a second for each processor, and gsiDepth at once. A REQ
// costs some 20 µs of a processor, the program's refusal included, so a flood takes a tenth of it. What
// is beyond finds no receive and costs a tenth of that; the gate drops it from the senders that send
// most. A connection takes three MADs at each end.
func gsiReads() pace.Rate {
	return pace.Rate{Burst: gsiDepth, Interval: 200 * time.Microsecond / time.Duration(runtime.GOMAXPROCS(0))}
}

// logInterval is the least time between two lines of the log about messages that were not sent.
const logInterval = transport.Time(time.Second)

const madRoom = transport.GRHLen + mad.Len

// Open starts the connection manager of d, which may have one. handle is called for each event, by one goroutine,
// with no lock held; it may call Do.
func Open(d *nic.Device, cfg cm.Config, handle func(*cm.Event)) (*Agent, error) {
	g := &Agent{
		dev: d, pd: &mr.PD{}, mem: make([]byte, gsiDepth*madRoom), handle: handle,
		manager: cm.New(cfg), kick: signal.New(), taken: signal.New(),
	}
	g.arrived.kick = g.kick
	if err := g.open(); err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	// The device closes its completion queues when its goroutines have ended.
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
		g.recvs[i] = qp.RecvWR{ID: uint64(i), SGList: []qp.SGE{{Addr: uint64(i) * madRoom, Length: madRoom, LKey: g.lkey}}}
		all[i] = &g.recvs[i]
	}
	g.qp.ShareReceives(gsiDepth)
	_, err = g.qp.PostRecv(all)
	return err
}

// receive takes what comes to queue pair 1 until the device closes.
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
			g.take(&wcs[i])
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

// take gives the manager what one receive brought. g.mu is held.
func (g *Agent) take(wc *qp.WC) {
	if wc.Opcode == qp.WCRecv && wc.Status == qp.WCSuccess {
		g.hear(wc, g.room(wc.WRID))
	}
}

// room is the memory of a receive.
func (g *Agent) room(i uint64) []byte { return g.mem[i*madRoom:][:madRoom] }

// repost posts the receives again that were read, and lets their senders send more.
func (g *Agent) repost(wcs []qp.WC) {
	var wrs [gsiBatch]*qp.RecvWR
	var senders [gsiBatch]netip.Addr
	n, known := 0, 0
	for i := range wcs {
		wc := &wcs[i]
		if wc.Opcode != qp.WCRecv || wc.Status == qp.WCWRFlushErr {
			continue
		}
		// The header is that which the device wrote when it came.
		if src, _, _, err := (*transport.GRH)(g.room(wc.WRID)).Origin(); err == nil {
			senders[known] = src
			known++
		}
		wrs[n] = &g.recvs[wc.WRID]
		n++
	}
	g.qp.ReceivesRead(senders[:known])
	// It fails once the device closes, and then the next Wait does, too.
	_, _ = g.qp.PostRecv(wrs[:n])
}

func (g *Agent) hear(wc *qp.WC, b []byte) {
	av, err := g.dev.ReplyVector((*transport.GRH)(b))
	if err != nil || wc.SrcQP != bth.GSI || wc.ByteLen < transport.GRHLen {
		g.foreign++
		return
	}
	g.manager.Receive(g.now(), cm.Peer{SGIDIndex: av.SGIDIndex, GID: av.DGID}, b[transport.GRHLen:wc.ByteLen])
}

// serve calls the manager when its time has come, and the program when something happened.
func (g *Agent) serve() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var event cm.Event
	for {
		select {
		case <-g.dev.Done():
			return
		case <-timer.C:
		case <-g.kick:
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
		// Those that come meanwhile wait for another turn: what is due comes first.
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

// next takes the oldest event.
func (g *Agent) next(e *cm.Event) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok := g.manager.NextEvent(e)
	g.taken.Wake()
	return ok
}

// Do calls f with the manager, which is f's alone for that time, and sends what f lets it say. Once
// the device closes it returns [nic.ErrClosed] without calling f.
func (g *Agent) Do(f func(now cm.Time, m *cm.Manager) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dev.Closing() {
		return nic.ErrClosed
	}
	defer g.done()
	return f(g.now(), g.manager)
}

// Counters calls f for each counter of the manager and of what it takes for it to be reached.
func (g *Agent) Counters(f func(name string, value uint64)) {
	g.mu.Lock()
	c, unsent, foreign := *g.manager.Counters(), g.unsent, g.foreign
	g.mu.Unlock()
	c.Each(f)
	f("cm_unsent", unsent)
	f("cm_foreign", foreign)
}

// Conns describes what the manager has at one moment, in the order in which it came to be.
func (g *Agent) Conns() []cm.ConnInfo {
	g.mu.Lock()
	list := slices.Collect(g.manager.All())
	g.mu.Unlock()
	slices.SortFunc(list, func(a, b cm.ConnInfo) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Now is the time of what Conns tells.
func (g *Agent) Now() cm.Time { return g.now() }

func (g *Agent) now() cm.Time { return cm.Time(g.dev.Now()) }

// done sends what the manager has to say and has the rest seen to. g.mu is held.
func (g *Agent) done() {
	g.send()
	g.kick.Wake()
}

// send posts the manager's MADs. One that finds no room is lost like any other datagram.
func (g *Agent) send() {
	for g.manager.NextSend(&g.out) {
		ah, err := g.dev.CreateAH(g.pd, qp.AddressVector{DGID: g.out.Peer.GID, SGIDIndex: g.out.Peer.SGIDIndex, HopLimit: packet.DefaultHopLimit})
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

// lost takes note of a message that was not sent. The log hears of it once a second at most: whom
// messages are for is up to those who ask. g.mu is held.
func (g *Agent) lost(err error) {
	g.unsent++
	if now := g.dev.Now(); g.lastUnsent == 0 || now-g.lastUnsent >= logInterval {
		g.lastUnsent = now
		g.dev.Logger().Warn("a message of the connection manager was not sent", "device", g.dev.Name(), "to", g.out.Peer.GID, "error", err, "messages", g.unsent)
	}
}

// OnFirstPacket lets the manager know when the first packet comes for q, the queue pair of
// connection id: see [cm.Manager.CommEst].
func (g *Agent) OnFirstPacket(q *nic.QP, id mad.CommID) {
	q.OnFirstPacket(func() { g.arrived.add(id) })
}

// OnFailure has call called when q fails, by the goroutine that hands out the manager's events, with no lock held.
func (g *Agent) OnFailure(q *nic.QP, call func()) {
	q.OnFailure(func() { g.arrived.later(call) })
}

// arrivals are the connections for whose queue pairs a first packet has come.
type arrivals struct {
	mu    sync.Mutex
	ids   []mad.CommID
	calls []func() // of queue pairs that have failed
	kick  signal.Signal
}

func (a *arrivals) add(id mad.CommID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = append(a.ids, id)
	a.kick.Wake()
}

func (a *arrivals) take() []mad.CommID {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := a.ids
	a.ids = nil
	return ids
}

// later has call called when the manager's events are handed out.
func (a *arrivals) later(call func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call)
	a.kick.Wake()
}

// takeCalls returns what is to be called.
func (a *arrivals) takeCalls() []func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}
