package trace

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/internal/overlay"
	"github.com/gorxe/gorxe/trace/ulp"
)

// Options configure an [Analyzer]. The zero value is usable.
type Options struct {
	// Flows is the maximum number of flows that are followed at a time; 0 means 16,384. At the
	// limit, a new flow evicts the one that has been silent for longest: it is passed to Flow
	// with Evicted set, and later packets of it begin a new flow.
	Flows int
	// Outstanding is the maximum number of messages of each end of a flow that are followed at a
	// time; 0 means 1024. At the limit, a new message evicts the oldest, which is passed to
	// Message.
	Outstanding int
	// NoMeaning leaves Packet.Meaning empty, which saves about a third of the time.
	NoMeaning bool
	// ReuseMeaning reuses the memory of Packet.Meaning for the next packet, which saves a fifth of
	// the time: the string is valid only until the next call of Add.
	ReuseMeaning bool
	// Message is called once for every message: when it completes, fails or is evicted, or by
	// Finish.
	Message func(*Message)
	// Flow is called once for every flow: when it is evicted, when a new flow replaces it, or by
	// Finish, which calls it in order of Flow.Number. It is not called for a flow that is merged
	// into another, because the two turn out to be the directions of one connection.
	Flow func(*Flow)
	// Merged is called when the flow from is merged into another one, because the two turn out to
	// be the directions of one connection. The totals of into then include those of from.
	Merged func(into, from *Flow)
}

const (
	defaultFlows       = 16384
	defaultOutstanding = 1024
)

// Analyzer explains each packet of a capture in its conversation. It processes packets in capture
// order, without lookahead, and keeps state bounded by its [Options].
type Analyzer struct {
	o        Options
	table    table
	cms      exchanges
	hosts    hosts
	keys     keys
	line     line
	use      budget
	overlays overlay.Tracker

	p    *Packet         // packet being processed
	net  overlay.Network // virtual network of its flow
	info *bth.OpcodeInfo // of p
	at   int64           // Time of p in nanoseconds, or noTime
	last int64           // latest time of all packets, or noTime
	size int             // payload bytes of p on the wire
	good bool            // p's ICRC gives no reason for the receiver to drop it

	notes  notes        // comments of the frame of p
	rivals []*direction // scratch of pair

	searches int // directions that pair may examine now; see searchBurst

	uppers ulp.Budget
}

// NewAnalyzer returns an Analyzer without state.
func NewAnalyzer(o Options) *Analyzer {
	if o.Flows <= 0 {
		o.Flows = defaultFlows
	}
	if o.Outstanding <= 0 {
		o.Outstanding = defaultOutstanding
	}
	a := &Analyzer{o: o, last: noTime, searches: searchBurst}
	a.table.init(o.Flows, a.end)
	a.line.quiet = o.NoMeaning
	return a
}

// Add explains p: it sets Flow, Role, Message, Again, Meaning and Findings. Later packets still
// modify *Flow and *Message. Add keeps no reference to p.
func (a *Analyzer) Add(p *Packet) {
	p.Flow, p.Role, p.Message, p.Again, p.Meaning, p.Findings = nil, NoRole, nil, false, "", nil
	p.Delivered, p.RTT, p.InFlight, p.Outstanding, p.Events = 0, 0, 0, 0, Events{}
	a.p, a.info, a.at = p, p.BTH.Opcode.Info(), nanoseconds(p.Time)
	a.last = max(a.last, a.at)
	a.searches = min(a.searches+searchPerPacket, searchBurst)
	a.size = p.PayloadLen()
	if a.net = 0; p.Outer != nil || a.overlays.Begun() {
		a.net = a.overlay(p)
	}
	a.good = a.trusted()
	a.line.reset()
	if len(p.Comments) > 0 {
		a.readNotes()
	} else if a.notes.frame != 0 {
		a.notes = notes{}
	}
	if a.notes.missing {
		a.Gap()
	}
	a.analyse()
	if p.Flow != nil && p.Flow.changed() {
		p.Events = p.Flow.events()
	}
	p.Meaning = a.meaning()
	a.p = nil
}

// meaning returns the text of the current packet for Packet.Meaning.
func (a *Analyzer) meaning() string {
	switch {
	case a.line.quiet:
		return ""
	case a.o.ReuseMeaning:
		return unsafe.String(unsafe.SliceData(a.line.b), len(a.line.b))
	}
	return string(a.line.b)
}

// addCopy sets the meaning and the flow of p, which is a copy; see [Packet.Copy].
func (a *Analyzer) addCopy(p *Packet) {
	p.Flow, p.Role, p.Message, p.Again, p.Meaning, p.Findings = nil, NoRole, nil, false, "", nil
	p.Delivered, p.RTT, p.InFlight, p.Outstanding = 0, 0, 0, 0
	key := directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, net: a.overlay(p)}
	if h := a.table.find(key); h != nil {
		p.Flow = h.conn.Flow
	}
	if !a.line.quiet {
		a.line.reset()
		a.line.text("copy of frame ").int(p.Copy).text(", captured at another point")
		p.Meaning = a.meaning()
	}
}

// overlay returns the virtual network of the flow of p.
func (a *Analyzer) overlay(p *Packet) overlay.Network {
	own := overlay.Of(p.Outer)
	if !a.overlays.Begun() {
		if own == 0 {
			return 0
		}
		a.overlays.Begin(func(yield func(overlay.Path) bool) {
			for k := range a.table.directions {
				if !yield(overlay.Path{Src: k.src, Dst: k.dst}) {
					return
				}
			}
		})
	}
	w := overlay.Path{Src: p.Src.Addr(), Dst: p.Dst.Addr()}
	if p.Copy != 0 {
		return a.overlays.OfCopy(w, own)
	}
	return a.overlays.Network(w, own)
}

// Finish passes the remaining messages and all flows to the callbacks of [Options]. The Analyzer
// can be used again; flow numbers continue.
func (a *Analyzer) Finish() {
	for _, c := range a.table.byNumber() {
		a.end(c, false)
	}
	a.table.clear()
	a.cms = exchanges{}
}

// Active returns the number of flows being followed, and how many were evicted to respect the
// limit.
func (a *Analyzer) Active() (now int, evicted uint64) { return a.table.count, a.table.evicted }

func (a *Analyzer) analyse() {
	p := a.p
	a.checkPacket()
	if p.Err != nil {
		a.malformed()
		return
	}
	switch s := a.info.Service; {
	case !a.good && !a.analyseWrongICRC():
	case a.info.Headers&bth.HasAETH != 0 && reservedType(p.BTH.AETH.Syndrome):
		a.reservedSyndrome()
	case s == bth.ServiceRC, s == bth.ServiceUC:
		a.connected()
	case s == bth.ServiceUD && p.MAD != nil:
		a.managed()
	case s == bth.ServiceUD:
		a.datagram()
	case s == bth.ServiceCNP:
		a.notified()
	default:
		a.malformed()
	}
	if p.Flow != nil {
		p.Flow.Packets++
		p.Flow.Bytes += uint64(p.Len)
		p.Flow.Last = p.Time
	}
}

// connected processes a packet of an RC or UC connection.
func (a *Analyzer) connected() {
	p := a.p
	h := a.packetDirection()
	c := a.pair(h)
	p.Flow = c.Flow
	end := h.from
	a.setCompletions(c, end)
	a.countActive(c)
	a.marked(c, end)
	switch {
	case a.info.Service == bth.ServiceUC:
		p.Role = Datagram
		a.request(c, end)
	case a.info.Request():
		p.Role = Request
		a.request(c, end)
	case a.info.Op == bth.OpAck:
		p.Role = Ack
		a.acknowledgement(c, 1-end)
	default:
		p.Role = Response
		a.response(c, 1-end)
	}
	if !h.paired {
		a.table.noteUnpaired(h, p.BTH.PSN)
	}
	if a.info.Service == bth.ServiceRC {
		st := c.seen(end)
		if p.Role != Request {
			st = c.seen(1 - end)
		}
		p.InFlight, p.Outstanding = max(0, int(st.next.Diff(st.una))), st.works.n-st.works.done
		c.busy = p.InFlight > 0 || c.seen(0).outstanding() || c.seen(1).outstanding()
	}
	a.sayMarked()
}

// end passes the remaining messages of c, and then c, to the callbacks. evicted reports whether
// c is removed because of the limit on flows.
func (a *Analyzer) end(c *conn, evicted bool) {
	c.Evicted = evicted
	a.cms.forget(c)
	c.dropUpper()
	for _, st := range c.dir {
		if st == nil {
			continue
		}
		if c.Service == bth.ServiceRC {
			a.finishOpen(st, a.whyOpen(c, st), evicted)
		} else {
			a.finishOpen(st, "", evicted)
		}
		a.use.records -= len(st.recs)
		st.recs = nil
	}
	if a.o.Flow != nil {
		a.o.Flow(c.Flow)
	}
}

// whyOpen returns why messages of st have no response, or "" if the capture ends before a response.
// If the last responses were RNR NAKs and the requester did not retry after the last one although
// its RNR timer had expired, whyOpen also sets c.Err.
func (a *Analyzer) whyOpen(c *conn, st *stream) string {
	switch {
	case st.refused:
		return "the connection failed before it was answered"
	case st.rnrs > 0 && !a.rnrExpired(st):
		return fmt.Sprintf(
			"the receiver was not ready %s; the capture ends before a retry is certainly due", times(st.rnrs))
	case st.rnrs > 0:
		why := fmt.Sprintf("the receiver was not ready %s; no retry in the capture", times(st.rnrs))
		if c.Err == "" {
			c.Err = why
		}
		return why
	case c.CM != nil && c.CM.Ended:
		return "the connection ended before it was answered"
	}
	return ""
}

// rnrReaction is the maximum time from the expiry of an RNR timer to the retry. Linux rxe waits for
// the next tick of the kernel's timer, which takes up to 10 ms with CONFIG_HZ=100.
const rnrReaction = 20 * time.Millisecond

// rnrExpired reports whether the capture continued for long enough after the latest RNR NAK of st
// that a retry would be in it.
func (a *Analyzer) rnrExpired(st *stream) bool {
	n := &st.nak
	if a.last == noTime || n.at == noTime || !n.syndrome.IsRNR() {
		return true
	}
	return a.last-n.at > bth.RNRDelay(n.syndrome.RNRTimer())+int64(rnrReaction)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d consecutive times", n)
}
