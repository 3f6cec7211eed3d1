package trace

import (
	"strconv"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// line builds the meaning of a packet. Its methods append to b and return the line.
type line struct {
	b     []byte
	quiet bool // append nothing
}

func (l *line) reset() { l.b = l.b[:0] }

func (l *line) text(s string) *line {
	if !l.quiet {
		l.b = append(l.b, s...)
	}
	return l
}

func (l *line) uint(n uint64) *line {
	if !l.quiet {
		l.b = strconv.AppendUint(l.b, n, 10)
	}
	return l
}

func (l *line) int(n int) *line { return l.uint(uint64(max(0, n))) }

func (l *line) psn(p bth.PSN) *line { return l.uint(uint64(p)) }

func (l *line) hex(n uint64) *line {
	if !l.quiet {
		l.b = strconv.AppendUint(append(l.b, "0x"...), n, 16)
	}
	return l
}

// qpn appends q as tools print it, with six hexadecimal digits.
func (l *line) qpn(q bth.QPN) *line {
	if l.quiet {
		return l
	}
	l.b = append(l.b, "0x"...)
	for shift := 20; shift >= 0; shift -= 4 {
		l.b = append(l.b, "0123456789abcdef"[q>>shift&0xf])
	}
	return l
}

// message appends the name of m, such as "WRITE #3".
func (l *line) message(m *Message) *line { return l.text(m.Verb).text(" #").int(m.Number) }

// op appends the name of the operation, such as "READ response".
func (l *line) op(info *bth.OpcodeInfo) *line {
	switch info.Op {
	case bth.OpReadResponse:
		return l.text("READ response")
	case bth.OpAtomicAck:
		return l.text("ATOMIC Acknowledge")
	case bth.OpAck:
		return l.text("acknowledgement")
	}
	return l.text(verb(info))
}

// latency appends the latency of m, if known.
func (l *line) latency(m *Message) *line {
	if l.quiet || !m.HasLatency() {
		return l
	}
	l.b = appendLasting(append(l.b, ", "...), int64(m.Latency()))
	return l.text(" latency")
}

// lasting formats a duration of ns nanoseconds with three significant digits.
func lasting(ns int64) string { return string(appendLasting(nil, ns)) }

func appendLasting(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	ns = int64(min(uint64(ns), 1<<62)) // avoid overflow with unrealistic times
	digit := int64(1)
	for ns/digit >= 1000 {
		digit *= 10
	}
	ns = (ns + digit/2) / digit * digit
	scale, unit := int64(time.Second), "s"
	switch {
	case ns < int64(time.Microsecond):
		scale, unit = 1, "ns"
	case ns < int64(time.Millisecond):
		scale, unit = int64(time.Microsecond), "µs"
	case ns < int64(time.Second):
		scale, unit = int64(time.Millisecond), "ms"
	}
	b = strconv.AppendInt(b, ns/scale, 10)
	if rest := ns % scale; rest != 0 {
		b = append(b, '.')
		for ; rest != 0; rest %= scale {
			scale /= 10
			b = append(b, byte('0'+rest/scale))
		}
	}
	return append(b, unit...)
}

// psns formats the PSNs from x to y.
func psns(x, y bth.PSN) string {
	if x == y {
		return "PSN " + strconv.Itoa(int(x))
	}
	return "PSNs " + strconv.Itoa(int(x)) + " to " + strconv.Itoa(int(y))
}

// isOrAre returns the verb for n PSNs.
func isOrAre[N int | int32](n N) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// sayRequest appends what the current request packet, of w, does. again reports whether its PSN is
// older than the newest one.
func (a *Analyzer) sayRequest(c *conn, st *stream, w *work, r *record, again bool) {
	l, p := &a.line, a.p
	if l.quiet {
		return
	}
	l.message(w.m)
	switch {
	case w.op == bth.OpReadRequest || w.op == bth.OpCmpSwap || w.op == bth.OpFetchAdd || w.op == bth.OpFlush ||
		w.op == bth.OpAtomicWrite:
		a.sayAsked(w)
	default:
		a.sayPart(w)
	}
	switch {
	case again && st.back.on:
		l.text(repetitions[st.back.kind])
	case p.Again:
		l.text(", network duplicate")
	}
	if p.BTH.Solicited {
		l.text(", solicited")
	}
	if a.info.Headers&bth.HasImmDt != 0 {
		l.text(", immediate ").hex(uint64(p.BTH.Imm))
	}
	if a.info.Headers&bth.HasIETH != 0 {
		l.text(", invalidates key ").hex(uint64(p.BTH.InvalidateRKey))
	}
	if p.BTH.AckReq && a.info.Service == bth.ServiceRC {
		l.text(", AckReq")
	}
}

// repetitions is what sayRequest appends to a retransmitted request, by cause.
var repetitions = map[Kind]string{
	AfterNAK: ", retransmitted after a sequence NAK", AfterTimeout: ", retransmitted after a timeout",
	AfterRNR:   ", retransmitted after an RNR NAK",
	ImpliedNAK: ", retransmitted after an implied NAK", AfterUnknown: ", retransmitted",
}

// sayAsked appends what a request asks for whose response is more than an acknowledgement.
func (a *Analyzer) sayAsked(w *work) {
	l, b := &a.line, &a.p.BTH
	switch w.op {
	case bth.OpReadRequest:
		l.text(" asks for ").uint(uint64(b.RETH.DMALen)).text(" bytes at ").hex(b.RETH.VA).
			text(", key ").hex(uint64(b.RETH.RKey))
		if n := int(w.end.Diff(b.PSN)); w.whole && n > 1 {
			l.text(", in ").int(n).text(" responses")
		}
	case bth.OpCmpSwap:
		l.text(" stores ").hex(b.AtomicETH.SwapAdd).text(" at ").hex(w.va).text(", key ").hex(uint64(w.rkey)).
			text(", if it finds ").hex(b.AtomicETH.Compare)
	case bth.OpFetchAdd:
		l.text(" adds ").hex(b.AtomicETH.SwapAdd).text(" at ").hex(w.va).text(", key ").hex(uint64(w.rkey))
	case bth.OpFlush:
		l.text(" asks for ").uint(uint64(b.RETH.DMALen)).text(" bytes at ").hex(b.RETH.VA).
			text(", key ").hex(uint64(b.RETH.RKey)).text(" to be flushed")
	case bth.OpAtomicWrite:
		l.text(" writes 8 bytes atomically at ").hex(b.RETH.VA).text(", key ").hex(uint64(b.RETH.RKey))
	}
}

// sayPart appends which part of a SEND or WRITE the packet is.
func (a *Analyzer) sayPart(w *work) {
	l, b := &a.line, &a.p.BTH
	reth := a.info.Headers&bth.HasRETH != 0
	switch {
	case a.info.Pos == bth.Only && !w.split:
		l.text(" of ").int(a.size).text(" bytes")
	case w.m.Partial:
		l.text(", which began before the capture: ").int(a.size).text(" bytes")
	default:
		l.text(", packet ").int(int(b.PSN.Diff(w.first)) + 1)
		if w.whole {
			l.text(" of ").int(int(w.end.Diff(w.first)))
		}
		if !reth {
			l.text(": ").int(a.size).text(" bytes")
		}
	}
	if reth {
		if a.info.Pos != bth.Only || w.split {
			l.text(": ").int(a.size)
			if !w.split {
				l.text(" of ").uint(uint64(b.RETH.DMALen))
			}
			l.text(" bytes")
		}
		l.text(" to ").hex(b.RETH.VA).text(", key ").hex(uint64(b.RETH.RKey))
	}
}

// sayResponse appends which part of the response to w the current packet, with PSN s, is.
func (a *Analyzer) sayResponse(w *work, s bth.PSN) {
	l := &a.line
	if l.quiet {
		return
	}
	l.message(w.m)
	if w.op != bth.OpReadRequest {
		if l.text(" completed"); a.answersNow(w) {
			l.latency(w.m)
		}
		return
	}
	if w.whole && w.end == w.first.Add(1) {
		l.text(" completed: ").int(a.size).text(" bytes")
	} else {
		l.text(": response ").int(int(s.Diff(w.first)) + 1)
		if w.whole {
			l.text(" of ").int(int(w.end.Diff(w.first)))
		}
		l.text(", ").int(a.size).text(" bytes")
	}
	if a.p.Again {
		l.text(", retransmitted")
	}
	if w.over && s.Add(1) == w.end && a.answersNow(w) {
		l.latency(w.m)
	}
}

// answersNow reports whether the current packet completes w.
func (a *Analyzer) answersNow(w *work) bool { return w.m.Done && w.m.End.Equal(a.p.Time) }

// sayAck appends what an acknowledgement up to PSN s covers. first is the index in st.works of the
// oldest message that was not over before.
func (a *Analyzer) sayAck(st *stream, s bth.PSN, first int) {
	l := &a.line
	if l.quiet {
		return
	}
	q := &st.works
	var one, last *Message
	for i := first; i < q.n; i++ {
		w := q.get(i)
		if !w.m.Done || s.Diff(w.end) < -1 {
			if w.first.Diff(s) <= 0 && one == nil {
				l.text("acknowledges ").message(w.m).text(" up to packet ").int(int(s.Diff(w.first)) + 1)
				return
			}
			break
		}
		if one == nil {
			one = w.m
		}
		last = w.m
	}
	switch {
	case one == nil:
		l.text("acknowledges up to PSN ").psn(s)
	case one == last:
		l.text("acknowledges ").message(one).latency(one)
	default:
		l.text("acknowledges ").message(one).text(" to ").message(last)
	}
}
