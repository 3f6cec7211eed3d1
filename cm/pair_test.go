package cm

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// end is one of two managers connected by a path that loses, duplicates and delays messages, with
// a program that uses all calls.
type end struct {
	name  string
	m     *Manager
	other *end
	qpn   bth.QPN
	conns map[mad.CommID]*story
}

// story is what a program has seen of one connection.
type story struct {
	peer        mad.CommID // ID of the other end, 0 if it is unknown
	active      bool
	established bool
	over        bool // ended by an event or by the program
	mine        bool // ended by the program
	sidr        bool
}

type flight struct {
	at Time
	to *end
	o  Outgoing
}

type flights []flight

func (f flights) Len() int           { return len(f) }
func (f flights) Less(i, j int) bool { return f[i].at < f[j].at }
func (f flights) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)        { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	old := *f
	x := old[len(old)-1]
	*f = old[:len(old)-1]
	return x
}

type pairWorld struct {
	t       rapid.TB
	now     Time
	ends    [2]*end
	air     flights
	percent int // percentage of lost messages
	chance  func(percent int) bool
	delay   func() Time
	lost    func(a mad.Attribute) bool // additional lost messages
	// untold are connections whose last message to an end was lost, so that it cannot know their
	// end.
	untold map[*end]map[word]bool
}

// word identifies a message that ends a connection by the communication ID of its receiver and,
// for a DREQ, that of its sender: a repeated REQ creates two connections at the other end, each
// with its own messages.
type word struct{ to, from mad.CommID }

// randomPairWorld returns a world whose choices rapid draws.
func randomPairWorld(t *rapid.T) *pairWorld {
	w := newPairWorld(t)
	w.percent = rapid.SampledFrom([]int{0, 0, 5, 20, 40}).Draw(t, "loss")
	w.chance = func(percent int) bool { return rapid.IntRange(0, 99).Draw(t, "chance") < percent }
	w.delay = func() Time { return Time(rapid.Int64Range(1e3, 300e6).Draw(t, "delay")) }
	return w
}

func newPairWorld(t rapid.TB) *pairWorld {
	w := &pairWorld{t: t, untold: map[*end]map[word]bool{}, lost: func(mad.Attribute) bool { return false }}
	for i, n := range []string{"A", "B"} {
		w.ends[i] = &end{
			name: n, conns: map[mad.CommID]*story{}, qpn: 0x100,
			m: New(Config{CAGUID: mad.GUID(i + 1), Secret: [32]byte{byte(i)}, MaxHalfOpen: 6}),
		}
		w.untold[w.ends[i]] = map[word]bool{}
		for _, ps := range []mad.PortSpace{mad.PortSpaceTCP, mad.PortSpaceUDP} {
			if _, err := w.ends[i].m.Listen(mad.IPServiceID(ps, 7), AnyGID, 4); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.ends[0].other, w.ends[1].other = w.ends[1], w.ends[0]
	return w
}

// drain delivers the managers' messages, and passes the events to the programs.
func (w *pairWorld) drain() {
	for _, e := range w.ends {
		for o := (Outgoing{}); e.m.NextSend(&o); {
			var msg mad.Message
			if err := msg.Decode(o.MAD[:]); err != nil {
				w.t.Fatalf("%s sends %v", e.name, err)
			}
			copies := 1
			if w.lost(msg.Attribute) || w.percent > 0 && w.chance(w.percent) {
				copies = 0
			} else if w.percent > 0 && w.chance(10) {
				copies = 2
			}
			switch msg.Attribute {
			case mad.AttrREJ: // which does not end an established connection
				if copies == 0 {
					w.untold[e.other][word{to: msg.REJ.RemoteCommID}] = true
				}
			case mad.AttrDREQ: // the last one decides
				w.untold[e.other][word{msg.DREQ.RemoteCommID, msg.DREQ.LocalCommID}] = copies == 0
			}
			for range copies {
				heap.Push(&w.air, flight{w.now + w.delay(), e.other, o})
			}
		}
		for ev := (Event{}); e.m.NextEvent(&ev); {
			w.event(e, &ev)
		}
		if err := e.m.invariants(); err != nil {
			w.t.Fatalf("%s: %v", e.name, err)
		}
	}
}

func (w *pairWorld) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *pairWorld) event(e *end, ev *Event) {
	c := e.conns[ev.ID]
	switch ev.Kind {
	case Requested, SIDRRequested:
		if c != nil {
			w.t.Fatalf("%s is asked twice for %#x", e.name, ev.ID)
		}
		c = &story{sidr: ev.Kind == SIDRRequested}
		if ev.REQ != nil {
			c.peer = ev.REQ.LocalCommID
		}
		e.conns[ev.ID] = c
	default:
		if c == nil {
			w.t.Fatalf("%s hears %v of %#x, which is nobody's", e.name, ev.Kind, ev.ID)
		}
		if c.over {
			w.t.Fatalf("%s hears %v of %#x, which is over", e.name, ev.Kind, ev.ID)
		}
	}
	switch ev.Kind {
	case Replied:
		c.peer = ev.REP.LocalCommID
	case Established:
		if c.established {
			w.t.Fatalf("%s hears twice that %#x is established", e.name, ev.ID)
		}
		c.established = true
	case Rejected, Unreachable, Disconnected, Resolved:
		c.over = true
	}
}

// connect makes a program request a connection.
func (w *pairWorld) connect(e *end) {
	e.qpn++
	id, err := e.m.Connect(w.now, Peer{}, &mad.REQ{
		ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7), LocalQPN: e.qpn, RemoteCMResponseTimeout: 18,
		LocalCMResponseTimeout: 18, MaxCMRetries: pairRetries, Primary: mad.Path{LocalACKTimeout: 17},
	})
	w.must(err)
	e.conns[id] = &story{active: true}
}

// act makes a program act on one of its connections.
func (w *pairWorld) act(e *end, id mad.CommID, c *story) {
	mc := e.m.conns[id]
	if c.over || mc == nil {
		return
	}
	switch mc.state {
	case StateREQRcvd:
		switch {
		case w.chance(70):
			e.qpn++
			w.must(e.m.Accept(w.now, id, &mad.REP{LocalQPN: e.qpn}))
		case w.chance(50):
			w.must(e.m.Reject(id, mad.RejectConsumerDefined, nil, nil))
			c.over, c.mine = true, true
		}
	case StateREPRcvd:
		if w.chance(80) {
			w.must(e.m.Established(w.now, id, nil))
			c.established = true
		} else {
			w.must(e.m.Reject(id, mad.RejectConsumerDefined, nil, nil))
			c.over, c.mine = true, true
		}
	case StateREPSent:
		if w.chance(10) {
			w.must(e.m.Cancel(w.now, id))
			c.over, c.mine = true, true
		}
	case StateREQSent, StateSIDRREQSent:
		if w.chance(5) {
			w.must(e.m.Cancel(w.now, id))
			c.over, c.mine = true, true
		}
	case StateSIDRREQRcvd:
		w.must(e.m.Answer(w.now, id, &mad.SIDRREP{QPN: 5}))
		c.over = true
	case StateEstablished:
		if w.chance(20) {
			w.must(e.m.Disconnect(w.now, id, nil))
		}
	}
	w.drain()
}

// run advances the time to t.
func (w *pairWorld) run(t Time) {
	for {
		next := t + 1
		if len(w.air) > 0 {
			next = min(next, w.air[0].at)
		}
		for _, e := range w.ends {
			if d, ok := e.m.NextTimeout(); ok {
				next = min(next, d)
			}
		}
		if next > t {
			w.now = t
			return
		}
		w.now = max(w.now, next)
		for len(w.air) > 0 && w.air[0].at <= w.now {
			f := heap.Pop(&w.air).(flight)
			f.to.m.Receive(w.now, Peer{GID: f.o.Peer.GID}, f.o.MAD[:])
		}
		for _, e := range w.ends {
			e.m.Timeout(w.now)
		}
		w.drain()
	}
}

// TestTwoEndsAgreeOrLearnThatTheyDoNot connects two managers. After a time in which both have
// answered everything, an established connection is also established at the other end, or the
// message that it has ended was lost; after everything is disconnected, nothing remains.
func TestTwoEndsAgreeOrLearnThatTheyDoNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomPairWorld(t)
		for range rapid.IntRange(1, 30).Draw(t, "acts") {
			e := w.ends[rapid.IntRange(0, 1).Draw(t, "end")]
			switch rapid.IntRange(0, 5).Draw(t, "act") {
			case 0, 1:
				w.connect(e)
			case 2:
				id, err := e.m.Resolve(w.now, Peer{}, &mad.SIDRREQ{ServiceID: mad.IPServiceID(mad.PortSpaceUDP, 7)},
					1e9, pairRetries)
				w.must(err)
				e.conns[id] = &story{active: true, sidr: true}
			case 3:
				w.run(w.now + Time(rapid.Int64Range(1e6, 3e9).Draw(t, "pause")))
			default:
				for _, id := range slices.Sorted(maps.Keys(e.conns)) {
					w.act(e, id, e.conns[id])
				}
			}
			w.drain()
		}
		w.settle()
		w.agree()
		w.finish()
	})
}

// TestAChainOfMRAsIsWaitedFor: B answers each duplicate REQ with an MRA, and its other messages
// are lost, so A waits for 70 s after every second REQ.
func TestAChainOfMRAsIsWaitedFor(t *testing.T) {
	w := newPairWorld(t)
	w.delay = func() Time { return 1e6 }
	w.lost = func(a mad.Attribute) bool { return a == mad.AttrREP || a == mad.AttrREJ || a == mad.AttrDREQ }
	w.connect(w.ends[0])
	w.drain()
	w.run(w.now + 4e9)
	w.settle()
	if n := w.ends[1].m.Counters().Sent[iMRA]; n != 3 || w.now < 3*70e9 {
		t.Errorf("%d MRAs in %.0f s, want 3 that take 210 s", n, float64(w.now)/1e9)
	}
	w.agree()
	w.finish()
}

// settleTime is the maximum time until all retries have ended if programs answer at once. A REQ
// is sent eight times. Each may be answered with an MRA, for which the sender waits as long as
// requested, up to Config.RequestTimeout. Then the REP is retransmitted, and an MRA may answer that
// too.
const settleTime = 2 * (pairRetries + 1) * Time(90e9)

// pairRetries is the maximum number of retries of the REQs.
const pairRetries = 7

// settle makes the programs answer everything, and lets all retries end.
func (w *pairWorld) settle() {
	for end := w.now + settleTime; w.unsettled(); {
		if w.now > end {
			w.t.Fatalf("after %d s there still are connections that are neither established nor over", settleTime/1e9)
		}
		for _, e := range w.ends {
			for _, id := range slices.Sorted(maps.Keys(e.conns)) {
				c, mc := e.conns[id], e.m.conns[id]
				if mc == nil || c.over {
					continue
				}
				switch mc.state {
				case StateREQRcvd:
					e.qpn++
					w.must(e.m.Accept(w.now, id, &mad.REP{LocalQPN: e.qpn}))
				case StateREPRcvd:
					w.must(e.m.Established(w.now, id, nil))
					c.established = true
				case StateSIDRREQRcvd:
					w.must(e.m.Answer(w.now, id, &mad.SIDRREP{}))
					c.over = true
				}
			}
		}
		w.drain()
		w.run(w.now + 5e9)
	}
}

// unsettled reports whether a request is unanswered or a message is in flight.
func (w *pairWorld) unsettled() bool {
	for _, e := range w.ends {
		for _, c := range e.m.conns {
			if c.state != StateEstablished {
				return true
			}
		}
	}
	return len(w.air) > 0
}

func (w *pairWorld) agree() {
	for _, e := range w.ends {
		for id, c := range e.conns {
			mc := e.m.conns[id]
			switch {
			case c.over:
				continue
			case mc == nil:
				w.t.Fatalf("%s was never told how %#x ended", e.name, id)
			case mc.state != StateEstablished || !c.established:
				w.t.Fatalf("%s: %#x is in state %v, established %v", e.name, id, mc.state, c.established)
			}
			untold := w.untold[e][word{to: id}] || w.untold[e][word{id, c.peer}]
			if other := e.other.m.conns[c.peer]; (other == nil || other.state != StateEstablished) && !untold {
				w.t.Fatalf("%s: %#x is established, at %s %#x is not", e.name, id, e.other.name, c.peer)
			}
		}
	}
}

// finish disconnects everything and checks that nothing remains.
func (w *pairWorld) finish() {
	for _, e := range w.ends {
		for _, id := range slices.Sorted(maps.Keys(e.conns)) {
			c := e.conns[id]
			if mc := e.m.conns[id]; mc != nil && !c.over && mc.state == StateEstablished {
				w.must(e.m.Disconnect(w.now, id, nil))
			}
		}
	}
	w.drain()
	w.run(w.now + 60e9)
	for _, e := range w.ends {
		for id, c := range e.conns {
			if !c.over {
				w.t.Fatalf("%s was never told how %#x ended", e.name, id)
			}
		}
		if n := fmt.Sprint(len(e.m.conns), len(e.m.requests), len(e.m.byID), len(e.m.byQPN), len(e.m.timers),
			e.m.half.count, len(e.m.peers)); n != "0 0 0 0 0 0 0" {
			w.t.Fatalf("%s: left over: %s", e.name, n)
		}
	}
}
