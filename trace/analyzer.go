package trace

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// Options are what an [Analyzer] is told to do. The zero value is usable.
type Options struct {
	// Flows is how many flows are followed at a time; 0 stands for 4096. When one more begins the one that was silent for longest
	// is given up: it is handed to Flow, its Cut is set, and if it goes on it counts as a flow of its own.
	Flows int
	// Outstanding is how many messages of each end of a flow are followed at a time; 0 stands for 1024. When one more begins the
	// oldest is given up and handed to Message.
	Outstanding int
	// NoMeaning leaves [Packet].Meaning empty, which saves about a third of the time.
	NoMeaning bool
	// Message is called with every message when it is done, has failed or is given up; at the latest by Finish.
	Message func(*Message)
	// Flow is called with every flow when it is given up, or by Finish in the order of their numbers.
	Flow func(*Flow)
}

const (
	defaultFlows       = 4096
	defaultOutstanding = 1024
)

// Analyzer says what each packet of a capture does in its conversation. It looks at packets in the order of the capture, never
// ahead, and what it keeps is bounded by its [Options].
type Analyzer struct {
	o     Options
	table table
	cms   exchanges
	hosts hosts
	keys  keys
	line  line
	use   budget

	p    *Packet // the packet in hand
	info *bth.OpcodeInfo
	at   int64 // its time in nanoseconds, or noTime
	size int   // its payload in bytes, on the wire
	good bool  // nothing says that the receiver drops it

	notes notes // of its frame
}

// NewAnalyzer returns an Analyzer that has seen nothing.
func NewAnalyzer(o Options) *Analyzer {
	if o.Flows <= 0 {
		o.Flows = defaultFlows
	}
	if o.Outstanding <= 0 {
		o.Outstanding = defaultOutstanding
	}
	a := &Analyzer{o: o}
	a.table.init(o.Flows, a.end)
	a.line.quiet = o.NoMeaning
	return a
}

// Add says what p does: it fills in Flow, Role, Message, Again, Meaning and Findings. Flow and Message go on changing with later
// packets. Nothing of p is kept.
func (a *Analyzer) Add(p *Packet) {
	p.Flow, p.Role, p.Message, p.Again, p.Meaning, p.Findings = nil, NoRole, nil, false, "", nil
	a.p, a.info, a.at = p, p.BTH.Opcode.Info(), nanoseconds(p.Time)
	a.size = p.PayloadLen()
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
	if !a.line.quiet {
		p.Meaning = string(a.line.b)
	}
	a.p = nil
}

// Finish hands over what is still open: messages that were not answered, and all flows. The Analyzer can be used on, as if it
// was a new one except for the numbers of flows.
func (a *Analyzer) Finish() {
	for _, c := range a.table.byNumber() {
		a.end(c, false)
	}
	a.table.clear()
	a.cms = exchanges{}
}

// Followed returns how many flows are followed at the moment, and how many were given up to keep to the bound.
func (a *Analyzer) Followed() (now int, evicted uint64) { return a.table.count, a.table.evicted }

func (a *Analyzer) analyse() {
	p := a.p
	a.checkPacket()
	if p.Err != nil {
		a.malformed()
		return
	}
	switch s := a.info.Service; {
	case !a.good && !a.plausible():
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

// connected takes a packet of a reliable or an unreliable connection.
func (a *Analyzer) connected() {
	p := a.p
	h := a.half()
	c := a.pair(h)
	p.Flow = c.Flow
	end := h.from
	a.noted(c, end)
	if p.IP.CE() {
		c.ce[end] = p.Number
	}
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
}

// end hands over what is left of c. cut means that c is given up to make room.
func (a *Analyzer) end(c *conn, cut bool) {
	c.Cut = cut
	a.cms.forget(c)
	for i := range c.dir {
		st := &c.dir[i]
		if c.Service == bth.ServiceRC {
			a.giveUp(st, c.whyOpen(st), cut)
		} else {
			a.giveUp(st, "", cut)
		}
		a.use.records -= len(st.recs)
		st.recs = nil
	}
	if a.o.Flow != nil {
		a.o.Flow(c.Flow)
	}
}

// whyOpen says why messages of st have no answer; nothing where the capture ends before.
func (c *conn) whyOpen(st *stream) string {
	switch {
	case st.refused:
		return "the connection failed before it was answered"
	case st.rnrs > 0:
		why := fmt.Sprintf("the receiver was not ready %s, and nothing is sent after that", times(st.rnrs))
		if c.Err == "" {
			c.Err = why
		}
		return why
	case c.Managed != nil && c.Managed.Ended:
		return "the connection ended before it was answered"
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
