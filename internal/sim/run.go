package sim

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Stats counts what happened in runs.
type Stats struct {
	Conversations   uint64 // pairs of queue pairs that ran their programs to the end
	Requests        uint64
	Completions     uint64
	Events          [qp.NumEventTypes]uint64
	Errors          uint64 // completions with an error that was provoked, flushed ones included
	RetriesExceeded uint64
	Multicasts      uint64 // datagrams that members of groups accepted
	Kept, Probes    uint64 // requests kept until one before them came, probes of requesters
	Overflows, Lost uint64 // CQs that overflowed, completions that were lost
	Packets, Bytes  uint64 // sent, IP headers included
	Steps           uint64
	// What links did to packets, and the corrupt packets that nodes found.
	Dropped, Unreachable, Duplicated, Delayed, Corrupted, Caught uint64
	Virtual                                                      Time
}

// Faults is how many packets were lost, late, repeated or corrupt.
func (s *Stats) Faults() uint64 {
	return s.Dropped + s.Unreachable + s.Duplicated + s.Delayed + s.Corrupted
}

// Add adds o to s.
func (s *Stats) Add(o *Stats) {
	s.Conversations += o.Conversations
	s.Requests += o.Requests
	s.Completions += o.Completions
	s.Errors += o.Errors
	s.RetriesExceeded += o.RetriesExceeded
	s.Multicasts += o.Multicasts
	s.Kept += o.Kept
	s.Probes += o.Probes
	s.Overflows += o.Overflows
	s.Lost += o.Lost
	s.Packets += o.Packets
	s.Bytes += o.Bytes
	s.Steps += o.Steps
	s.Dropped += o.Dropped
	s.Unreachable += o.Unreachable
	s.Duplicated += o.Duplicated
	s.Delayed += o.Delayed
	s.Corrupted += o.Corrupted
	s.Caught += o.Caught
	s.Virtual += o.Virtual
	for i, n := range o.Events {
		s.Events[i] += n
	}
}

// Result is how a run ended.
type Result struct {
	Stats  Stats
	Err    *Violation // nil when all promises were kept
	Faults []FaultID  // decisions of links that were carried out
}

// limit is the longest that a scenario may last after its faults, and the most steps that
// it may take.
const (
	limit    = 60 * second
	maxSteps = 5_000_000
)

// Run plays a scenario. tap, if not nil, sees every datagram as it leaves; it must not
// keep it.
func Run(sc *Scenario, tap func(at Time, datagram []byte)) Result {
	w := newWorld(sc)
	w.tap = tap
	w.play()
	w.finish()
	w.stats.Virtual = w.now
	for _, c := range w.conns {
		for _, e := range c.ends {
			w.stats.Kept += e.m.Counters().EarlyKept
			w.stats.Probes += e.m.Counters().Probes
		}
	}
	if w.bad == nil {
		w.stats.Conversations = uint64(len(w.conns))
	}
	return Result{w.stats, w.bad, w.seen}
}

// play lets events happen until none is left.
func (w *World) play() {
	for w.bad == nil && w.step() {
	}
}

// step lets the next event happen; false when there is none.
func (w *World) step() bool {
	ev, ok := w.queue.pop()
	if !ok {
		return false
	}
	w.now = max(w.now, ev.at)
	w.stats.Steps++
	if w.now > w.sc.Calm+limit || w.stats.Steps > maxSteps {
		w.fail("the world", "%d steps, and no end", w.stats.Steps)
	}
	switch ev.kind {
	case evAct:
		ev.end.act(ev.act)
	case evReceive:
		ev.end.postReceive(ev.act)
		ev.end.settle()
	case evArrive:
		w.arrive(ev.frame)
	case evTransmit:
		ev.end.transmit()
	case evPoll:
		ev.cq.polled()
	case evTimer:
		ev.end.timer()
	}
	return true
}

// ready gives e a turn to send soon and minds its timer.
func (e *end) ready() {
	if !e.turn {
		e.turn = true
		e.w.queue.push(event{at: e.w.now + Time(e.w.rng.IntN(2000)), kind: evTransmit, end: e})
	}
	e.mindTimer()
}

func (e *end) mindTimer() {
	if at, ok := e.m.NextTimeout(); ok && (e.wake == 0 || at < e.wake) {
		e.wake = max(at, e.w.now)
		// A host's timer is late at times.
		e.w.queue.push(event{at: e.wake + Time(e.w.rng.IntN(5000)), kind: evTimer, end: e})
	}
}

// timer gives the machine its timeout. Where it has come to want a later one, it is early.
func (e *end) timer() {
	e.wake = 0
	if _, ok := e.m.NextTimeout(); ok {
		r := &e.requester
		var st step
		fires := r.armed && e.w.now >= r.deadline
		probes := r.armed && !fires && r.probeAt != 0 && e.w.now >= r.probeAt
		e.m.Timeout(e.w.now)
		r.waiting = r.waiting && e.w.now < r.rnrUntil
		if r.armed = r.armed && !fires; fires && r.cursor != r.una {
			r.narrow()
			e.again(&st)
			r.backoff++
			r.went = false
		}
		if probes {
			e.probe()
		}
		e.settleStep(st)
		e.ready()
	}
	e.mindTimer()
}

// transmit is e's turn to send.
func (e *end) transmit() {
	e.turn = false
	w := e.w
	ends := e.endings()
	more := e.m.Transmit(w.now, &e.path, w.batch, 1+w.rng.IntN(w.batch.Cap()))
	l := w.links[e.node.index][e.peer().node.index]
	for i := range w.batch.Len() {
		f := &frame{raw: seal(w.batch.At(i), uint16(l.sent)), from: e, epoch: e.conn.epoch, to: e.peer().node}
		if e.check(f); f.sent != nil && f.sent.group != nil {
			w.spread(f)
		} else {
			w.carry(l, f)
		}
	}
	w.batch.Reset()
	if s, ok := e.m.(interface{ Sent(Time) bool }); ok {
		more = s.Sent(w.now) || more
		e.requester.una = e.requester.cursor
	}
	e.settle()
	e.checkEndings(ends)
	if r := &e.responder; !more && e.alive() && (r.owesACK || r.owesNAK || r.refused != 0) {
		e.fail("the peer is owed an acknowledgement (%t), a NAK (%t) or an error NAK (%v) and gets none", r.owesACK, r.owesNAK, r.refused)
	}
	if more && !e.turn {
		e.turn = true
		w.queue.push(event{at: l.clear(w.now), kind: evTransmit, end: e})
	}
	e.mindTimer()
}

// check holds a packet that leaves against the model.
func (e *end) check(f *frame) {
	var p bth.Packet
	if !open(f.raw, &p) {
		e.fail("a packet is sent that does not decode or has a wrong ICRC: % x", f.raw)
		return
	}
	info := p.Opcode.Info()
	to := e.peer().qp.Num
	if e.qp.Type == qp.UD {
		if f.sent = e.at(e.seq(p.PSN)); f.sent != nil && f.sent.group != nil {
			to = bth.MulticastQPN
		}
	}
	if p.DestQP != to || p.PKey != 0xffff {
		e.fail("%s goes to QP %#x with P_Key %#x", info.Name, uint32(p.DestQP), p.PKey)
	}
	switch {
	case info.Service == bth.ServiceUC && e.qp.Type == qp.UC:
		e.emittedUC(&p, info)
	case info.Service == bth.ServiceUD && e.qp.Type == qp.UD:
		e.emittedUD(&p, info)
	case info.Service != bth.ServiceRC || e.qp.Type != qp.RC:
		e.fail("%s is sent by a queue pair of type %v", info.Name, e.qp.Type)
	case info.Response():
		e.replied(&p, info)
	default:
		e.emitted(&p, info)
	}
}

// arrive is a frame that reaches a node.
func (w *World) arrive(f *frame) {
	var p bth.Packet
	sound := open(f.raw, &p)
	if sound == f.damaged {
		w.fail("node", "a frame that was damaged on the way (%t) is found sound (%t)", f.damaged, sound)
		return
	}
	if !sound {
		w.stats.Caught++
		return
	}
	if f.copies != nil {
		w.arriveGroup(f, &p)
		return
	}
	e := f.to.qps[p.DestQP]
	if e == nil || e.peer() != f.from {
		w.fail("node", "a frame for QP %#x is lost", uint32(p.DestQP))
		return
	}
	stale := f.epoch != e.conn.epoch
	info := p.Opcode.Info()
	if stale && e.qp.Type != qp.RC {
		return // the time wait of unreliable queue pairs: nothing else protects them
	}
	var st step
	want, judged := transport.Accepted, true
	switch {
	case e.qp.Type == qp.UC:
		st, want = e.arrivedUC(&p, info)
	case e.qp.Type == qp.UD:
		st, want = e.arrivedUD(&p, f)
	case info.Response():
		judged = false
		if !stale {
			st = e.answered(&p, info)
		}
	default:
		st, want = e.arrived(&p, info, stale)
	}
	if w.bad == nil {
		e.takes(f, &p, st, want, judged)
	}
}

// takes lets e's machine have a packet, of which the model foretells the verdict if judged.
func (e *end) takes(f *frame, p *bth.Packet, st step, want transport.Verdict, judged bool) {
	var got transport.Verdict
	if ud, ok := e.m.(*transport.UD); ok {
		got = ud.ReceiveFrom(e.w.now, p, header(f))
	} else {
		got = e.m.Receive(e.w.now, p)
	}
	if want == transport.Duplicate && got == transport.UnknownDuplicate {
		got = want
	}
	if judged && got != want {
		e.fail("%s with PSN %d is %v, it should be %v", p.Opcode.Info().Name, p.PSN, got, want)
	}
	e.settleStep(st)
	e.ready()
}

// finish sees that nothing is left when nothing more can happen.
func (w *World) finish() {
	for _, c := range w.conns {
		for _, e := range c.ends {
			if w.bad == nil && e.state() == qp.SQD {
				e.resume()
				e.ready()
				w.play()
			}
		}
	}
	for _, c := range w.conns {
		for _, e := range c.ends {
			if s := e.head(); s != nil && w.bad == nil {
				e.fail("request %d, a %v, never completes; the queue pair is in %v", s.id, s.op, e.state())
			}
		}
	}
	for i, n := range w.nodes {
		if err := n.keys.DeallocWindow(n.shared); err != nil {
			w.fail(fmt.Sprintf("node %d", i), "%v", err)
		}
	}
	for _, c := range w.conns {
		for _, e := range c.ends {
			if w.bad == nil {
				e.toError("the end")
				e.freeKeys()
				e.deregister(&e.local)
				e.deregister(&e.remote)
			}
		}
	}
	w.play()
	for _, n := range w.nodes {
		for _, c := range n.cqs {
			if len(c.users) > 0 {
				c.poll(len(c.list))
				c.check()
			}
		}
		if err := n.mem.same(); err != nil {
			w.fail(fmt.Sprintf("node %d", n.index), "%v", err)
		}
		if n.keys.Len() != 0 {
			w.fail(fmt.Sprintf("node %d", n.index), "%d regions are left", n.keys.Len())
		}
	}
}
