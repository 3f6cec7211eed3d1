package trace

import (
	"time"

	"github.com/gorxe/gorxe/bth"
)

// Message is one message: what a work request asked for.
type Message struct {
	Number int // in its flow, from 1
	Flow   *Flow
	From   int // the index in Flow.Ends of who asked
	Verb   string
	Op     bth.Operation
	First  bth.PSN // of its first packet
	Last   bth.PSN // of its last; only valid if Complete or the length is known from a RETH
	// Bytes is the length: of WRITE and READ what the RETH says, of SEND what came so far.
	Bytes   uint64
	Packets int // request packets, or response packets of a READ
	Again   int // of them sent again
	Begin   time.Time
	End     time.Time // of the acknowledgement, or of the last response
	Frames  [2]int    // numbers of the first and the last frame of it
	Done    bool      // it was acknowledged or answered
	Failed  string    // why it failed, in words
	Partial bool      // the capture begins in its middle
	Cut     bool      // it was given up before its end because too many messages or flows were followed

	// WR and WC are what gorxe itself noted in a trace of its own: the work request and the completion it led to.
	WR, WC string

	chosen bool // a Pipeline has shown a packet of it
}

// Latency is the time from the first packet to the answer to the last; 0 while there is none, and where HasLatency is false.
func (m *Message) Latency() time.Duration {
	if !m.Done {
		return 0
	}
	return elapsed(m.Begin, m.End)
}

// HasLatency reports whether the message was answered, and the times in the capture tell after how long. They do not where the
// capture has no times, or its times go back.
func (m *Message) HasLatency() bool {
	return m.Latency() > 0 || m.Done && !m.End.IsZero() && m.End.Equal(m.Begin)
}

// arrived ends a message of an unreliable connection: nobody answers it.
func (a *Analyzer) arrived(st *stream, w *work) {
	if w.over || !a.info.Ends() {
		return
	}
	if got := int(w.end.Diff(w.first)); !w.m.Partial && w.m.Packets < got {
		w.m.Failed = "packets of it are missing, so the receiver drops it"
	}
	a.finish(w)
	st.una, st.exact = w.end, false
	a.advance(st)
}

// bound gives up the oldest messages if there are too many.
func (a *Analyzer) bound(st *stream) {
	q := &st.works
	for n := q.n - q.done; n > a.o.Outstanding || n > fewWorks && a.use.works > allWorks; n = q.n - q.done {
		w := q.get(q.done)
		if !w.over {
			w.m.Cut = true
			a.finish(w)
		}
		a.advance(st)
	}
}

// advance moves past messages that are over, and forgets those that have been for long.
func (a *Analyzer) advance(st *stream) {
	q := &st.works
	for q.done < q.n && q.get(q.done).over {
		q.done++
	}
	for q.done > kept || q.done > 0 && a.use.works > allWorks {
		q.drop()
		a.use.works--
	}
}

// finish hands over a message that nothing more will happen to.
func (a *Analyzer) finish(w *work) {
	w.over = true
	if a.o.Message != nil {
		a.o.Message(w.m)
	}
}

// giveUp ends all messages of st that are not over: they failed, if why says so.
func (a *Analyzer) giveUp(st *stream, why string, cut bool) {
	q := &st.works
	for i := range q.n {
		if w := q.get(i); !w.over {
			if w.m.Failed == "" && w.m.Flow.Service == bth.ServiceRC {
				w.m.Failed = why
			}
			w.m.Cut = cut
			a.finish(w)
		}
	}
	a.use.works -= q.n
	*q = works{ring: q.ring}
	if len(q.ring) > smallRing {
		q.ring = nil // as many messages may never be open again
	}
	clear(q.ring)
}

// verb names what the message of a request packet is, as far as this packet tells.
func verb(info *bth.OpcodeInfo) string {
	switch {
	case info.Headers&bth.HasIETH != 0:
		return "SEND with invalidate"
	case info.Op == bth.OpSend && info.Headers&bth.HasImmDt != 0:
		return "SEND with immediate"
	case info.Op == bth.OpWrite && info.Headers&bth.HasImmDt != 0:
		return "WRITE with immediate"
	}
	return verbs[info.Op]
}

var verbs = [...]string{
	bth.OpSend: "SEND", bth.OpWrite: "WRITE", bth.OpReadRequest: "READ", bth.OpCmpSwap: "CAS", bth.OpFetchAdd: "FAA",
	bth.OpFlush: "FLUSH", bth.OpAtomicWrite: "ATOMIC WRITE", bth.OpCNP: "CNP",
}
