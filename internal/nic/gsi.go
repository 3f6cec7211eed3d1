package nic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// GSI is queue pair 1 of a device with the connection manager that speaks over it.
//
// Two goroutines belong to it: one receives, the other serves timeouts and hands events to
// the program. Both end with the device.
//
// mu guards the manager. It is taken before any shard's lock, and never with one held: what a
// machine has to tell the manager goes through arrived, which has a lock of its own that is
// taken last of all.
type GSI struct {
	dev    *Device
	qp     *QP
	cq     *CQ
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
	kick    token // wakes the goroutine of timeouts and events
	taken   token // wakes the goroutine that receives: events were taken
}

// maxEvents is how many events may wait for the program. Beyond, nothing is taken from queue pair
// 1 until they are gone, and what comes meanwhile and finds no receive is dropped and counted: a
// peer that asks and gives up in turns leaves events, but no half-open connection to count.
const maxEvents = 4096

const (
	// gsiDepth is how many MADs may wait for the receiving goroutine: see gate. Of one peer
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

const madRoom = transport.GRHLen + mad.Len

// OpenGSI starts the connection manager. handle is called for each event, by one goroutine,
// with no lock held; it may call Do.
func (d *Device) OpenGSI(cfg cm.Config, handle func(*cm.Event)) (*GSI, error) {
	g := &GSI{
		dev: d, pd: &mr.PD{}, mem: make([]byte, gsiDepth*madRoom), handle: handle,
		manager: cm.New(cfg), kick: newToken(), taken: newToken(),
	}
	g.arrived.kick = g.kick
	if err := g.open(); err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	// The device closes its completion queues when its goroutines have ended.
	ctx, cancel := context.WithCancel(context.Background())
	d.running.Go(func() { g.receive(ctx) })
	d.running.Go(func() {
		defer cancel()
		g.serve()
	})
	return g, nil
}

func (g *GSI) open() error {
	region, err := g.dev.Register(g.pd, mr.Bytes(g.mem), 0, uint64(len(g.mem)), mr.LocalWrite)
	if err != nil {
		return err
	}
	g.lkey = region.LKey()
	if g.cq, err = g.dev.CreateCQ(gsiDepth + gsiSendDepth); err != nil {
		return errors.Join(err, g.dev.Deregister(region))
	}
	g.qp, err = g.dev.CreateQP(QPInit{
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
	g.openGate()
	_, err = g.qp.PostRecv(all)
	return err
}

func (g *GSI) openGate() {
	s := g.dev.home()
	s.mu.Lock()
	defer s.mu.Unlock()
	g.qp.gate = newGate(gsiDepth)
}

// receive takes what comes to queue pair 1 until the device closes.
func (g *GSI) receive(ctx context.Context) {
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
func (g *GSI) take(wc *qp.WC) {
	if wc.Opcode == qp.WCRecv && wc.Status == qp.WCSuccess {
		g.hear(wc, g.room(wc.WRID))
	}
}

// room is the memory of a receive.
func (g *GSI) room(i uint64) []byte { return g.mem[i*madRoom:][:madRoom] }

// repost posts the receives again that were read, and lets their senders send more.
func (g *GSI) repost(wcs []qp.WC) {
	var wrs [gsiBatch]*qp.RecvWR
	n := 0
	s := g.dev.home()
	s.mu.Lock()
	for i := range wcs {
		wc := &wcs[i]
		if wc.Opcode != qp.WCRecv || wc.Status == qp.WCWRFlushErr {
			continue
		}
		// The header is that which the engine wrote when it came.
		if src, _, _, err := (*transport.GRH)(g.room(wc.WRID)).Origin(); err == nil {
			g.qp.gate.leave(src)
		}
		wrs[n] = &g.recvs[wc.WRID]
		n++
	}
	s.mu.Unlock()
	// It fails once the device closes, and then the next Wait does, too.
	_, _ = g.qp.PostRecv(wrs[:n])
}

func (g *GSI) hear(wc *qp.WC, b []byte) {
	av, err := g.dev.ReplyVector((*transport.GRH)(b))
	if err != nil || wc.SrcQP != bth.GSI || wc.ByteLen < transport.GRHLen {
		g.foreign++
		return
	}
	g.manager.Receive(g.now(), cm.Peer{SGIDIndex: av.SGIDIndex, GID: av.DGID}, b[transport.GRHLen:wc.ByteLen])
}

// serve calls the manager when its time has come, and the program when something happened.
func (g *GSI) serve() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var event cm.Event
	for {
		select {
		case <-g.dev.done:
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
func (g *GSI) next(e *cm.Event) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok := g.manager.NextEvent(e)
	g.taken.wake()
	return ok
}

// Do calls f with the manager, which is f's alone for that time, and sends what f lets it say. Once
// the device closes it returns [ErrClosed] without calling f.
func (g *GSI) Do(f func(now cm.Time, m *cm.Manager) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dev.ending.Load() {
		return ErrClosed
	}
	defer g.done()
	return f(g.now(), g.manager)
}

// Counters calls f for each counter of the manager and of what it takes for it to be reached.
func (g *GSI) Counters(f func(name string, value uint64)) {
	g.mu.Lock()
	c, unsent, foreign := *g.manager.Counters(), g.unsent, g.foreign
	g.mu.Unlock()
	c.Each(f)
	f("cm_unsent", unsent)
	f("cm_foreign", foreign)
}

// Conns describes what the manager has at one moment, in the order in which it came to be.
func (g *GSI) Conns() []cm.ConnInfo {
	g.mu.Lock()
	list := slices.Collect(g.manager.All())
	g.mu.Unlock()
	slices.SortFunc(list, func(a, b cm.ConnInfo) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Now is the time of what Conns tells.
func (g *GSI) Now() cm.Time { return g.now() }

func (g *GSI) now() cm.Time { return cm.Time(g.dev.now()) }

// done sends what the manager has to say and has the rest seen to. g.mu is held.
func (g *GSI) done() {
	g.send()
	g.kick.wake()
}

// send posts the manager's MADs. One that finds no room is lost like any other datagram.
func (g *GSI) send() {
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
func (g *GSI) lost(err error) {
	g.unsent++
	if now := g.dev.now(); g.lastUnsent == 0 || now-g.lastUnsent >= refusalLogInterval {
		g.lastUnsent = now
		g.dev.log.Warn("a message of the connection manager was not sent", "device", g.dev.name, "to", g.out.Peer.GID, "error", err, "messages", g.unsent)
	}
}

// OnFirstPacket lets the manager know when the first packet comes for q, the queue pair of
// connection id: see [cm.Manager.CommEst].
func (g *GSI) OnFirstPacket(q *QP, id mad.CommID) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	q.first = func() { g.arrived.add(id) }
}

// arrivals are the connections for whose queue pairs a first packet has come.
type arrivals struct {
	mu    sync.Mutex
	ids   []mad.CommID
	calls []func() // of queue pairs that have failed
	kick  token
}

func (a *arrivals) add(id mad.CommID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids = append(a.ids, id)
	a.kick.wake()
}

func (a *arrivals) take() []mad.CommID {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := a.ids
	a.ids = nil
	return ids
}
