package trace

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// sequenceNAK processes a NAK that requests PSN s and acknowledges all PSNs before it.
func (a *Analyzer) sequenceNAK(c *conn, st *stream, s bth.PSN) {
	p := a.p
	c.NAKs++
	if st.exact && s.Diff(st.una) < 0 {
		a.note(NotGoBackN, Warning, fmt.Sprintf("NAK for PSN %d, which was acknowledged in frame %d: the packets were reordered, or the responder is faulty", s, st.acked),
			st.acked, p.Number)
		a.line.text("requests PSN ").psn(s).text(", which was acknowledged before")
		return
	}
	a.acknowledgeBefore(c, st, s)
	if n := &st.nak; n.fresh && n.syndrome.IsRNR() && n.psn == s {
		a.note(SequenceNAK, Info, fmt.Sprintf(
			"PSN %d is not lost: the responder was not ready for it in frame %d and requests its retransmission because a later PSN arrived, as Linux rxe does; the RNR timer continues",
			s, n.frame), n.frame, p.Number)
		n.sequence = p.Number
		a.line.text("requests the retransmission of PSN ").psn(s).text(", for which it was not ready")
		if w := st.works.find(s); w != nil {
			p.Message = w.m
		}
		return
	}
	got := st.expected
	st.expected = s
	st.earlier = st.nak
	st.nak = nak{fresh: true, psn: s, syndrome: p.BTH.AETH.Syndrome, frame: p.Number, at: a.at}
	for _, from := range [...]bth.PSN{s.Add(1), st.latestEnd.Sub(1)} {
		if r := st.at(from); r != nil && r.times > 0 {
			st.nak.took = a.since(r.at)
			break
		}
	}
	text, frames := fmt.Sprintf("PSN %d is missing at the responder", s), []int{p.Number}
	r := st.at(s)
	switch {
	case r == nil && st.evicts(s):
		text += ": whether it was captured is no longer known"
	case r == nil || r.times == 0 && r.missed() == 0:
		text += ": it was not captured"
	case r.missed() > 0 && r.missed() == r.latest():
		text += fmt.Sprintf(": frame %d had a wrong ICRC, so it was dropped", r.latest())
		frames = []int{r.latest(), p.Number}
	case r.missed() > r.latest():
		text += fmt.Sprintf(": it was lost before frame %d, which arrived instead", r.missed())
		frames = []int{r.missed(), p.Number}
	case r.missed() > 0:
		text += fmt.Sprintf(": it was lost before frame %d and retransmitted in frame %d before this NAK",
			r.missed(), r.latest())
		frames = []int{r.missed(), r.latest(), p.Number}
		st.nak.late = true
		st.expected = later(got, s)
	default:
		text += fmt.Sprintf(": frame %d was captured and lost after the capture point", r.latest())
		frames = []int{r.latest(), p.Number}
		if !r.behind {
			r.behind = true
			c.LostBehind++
		}
	}
	a.note(SequenceNAK, Warning, text+"; all earlier PSNs are acknowledged", frames...)
	a.line.text("requests PSN ").psn(s)
	if w := st.works.find(s); w != nil {
		p.Message = w.m
		a.line.text(", packet ").int(int(s.Diff(w.first)) + 1).text(" of ").message(w.m)
	}
	a.line.text(": it is missing at the responder")
}

// acknowledgeBefore acknowledges the PSNs before s, for a NAK of s.
func (a *Analyzer) acknowledgeBefore(c *conn, st *stream, s bth.PSN) {
	if st.exact && s.Diff(st.una) <= 0 {
		return
	}
	a.beyond(c, st, s)
	if missing, _ := a.complete(c, st, s); missing != nil {
		a.impliedBy(c, st, missing)
	}
	a.advance(st)
}

// rnrNAK processes an RNR NAK for PSN s.
func (a *Analyzer) rnrNAK(c *conn, st *stream, s bth.PSN) {
	p := a.p
	c.RNRs++
	a.acknowledgeBefore(c, st, s)
	st.expected = s
	st.earlier = st.nak
	st.nak = nak{fresh: true, psn: s, syndrome: p.BTH.AETH.Syndrome, frame: p.Number, at: a.at}
	st.rnrs++
	wait := lasting(bth.RNRDelay(p.BTH.AETH.Syndrome.RNRTimer()))
	what, frames := fmt.Sprintf("PSN %d", s), []int{p.Number}
	a.line.text("not ready for PSN ").psn(s)
	if w := st.works.find(s); w != nil {
		p.Message = w.m
		request := w.request
		if r := st.at(s); r != nil && r.latest() > 0 {
			request = r.latest()
		}
		what = fmt.Sprintf("the %s of frame %d", w.m.Verb, request)
		frames = []int{request, p.Number}
		a.line.text(", ").message(w.m)
	}
	a.note(RNRNAK, Warning, fmt.Sprintf("no receive is posted for %s: the requester must wait %s before it retries%s",
		what, wait, nth(st.rnrs)), frames...)
	a.line.text(": no receive is posted; retry after ").text(wait)
}

// nth describes the n-th RNR NAK in a row. It returns "" for the first.
func nth(n int) string {
	if n < 2 {
		return ""
	}
	suffix := "th"
	if n%100/10 != 1 && n%10 >= 1 && n%10 <= 3 {
		suffix = [...]string{"st", "nd", "rd"}[n%10-1]
	}
	return fmt.Sprintf(" (%d%s RNR NAK in a row)", n, suffix)
}

// errorNAK processes a NAK that ends the connection.
func (a *Analyzer) errorNAK(c *conn, st *stream, s bth.PSN) {
	p, syn := a.p, a.p.BTH.AETH.Syndrome
	c.NAKs++
	a.acknowledgeBefore(c, st, s)
	st.refused = true
	text, hint, frames := fmt.Sprintf("refuses PSN %d: %s", s, syn), "", []int{p.Number}
	if w := st.works.find(s); w == nil {
		a.line.text("refuses a request that is not in the capture")
	} else {
		a.line.text("refuses ").message(w.m).text(": ").text(syn.String())
		p.Message = w.m
		text = fmt.Sprintf("refuses the %s of frame %d with %s%s: %s", w.m.Verb, w.m.Frames[0], syn, w.where(),
			refusal(syn, w))
		hint = a.hint(syn, w)
		frames = []int{w.m.Frames[0], p.Number}
		if !w.over {
			w.m.Failed = syn.String()
			w.m.End = p.Time
			w.m.Frames[1] = max(w.m.Frames[1], p.Number)
			a.finish(w)
		}
	}
	if c.Err == "" {
		c.Err = fmt.Sprintf("%s in frame %d", syn, p.Number)
	}
	a.note(ErrorNAK, Error, text+hint+"; both queue pairs go to the error state", frames...)
	a.advance(st)
}

// where describes the memory that w accesses.
func (w *work) where() string {
	switch {
	case w.reth:
		return fmt.Sprintf(" (%d bytes at address %#x, R_Key %#x)", w.total, w.va, w.rkey)
	case w.dataOp():
		return fmt.Sprintf(" (8 bytes at address %#x, R_Key %#x)", w.va, w.rkey)
	}
	return fmt.Sprintf(" (%d bytes)", w.got)
}

// refusal explains an error NAK for the message w.
func refusal(syn bth.Syndrome, w *work) string {
	switch syn {
	case bth.NakInvalidRequest:
		return "the request breaks a rule, or the queue pair does not allow this operation"
	case bth.NakRemoteAccess:
		return "invalid key, address range outside the region, or access not permitted"
	case bth.NakRemoteOperational:
		if w.op == bth.OpSend {
			return "the responder could not execute it (Linux rxe sends this for a message longer than its receive)"
		}
		return "the responder could not execute it"
	}
	return "a code that has no meaning here"
}

// keys records the ranges and operations that each R_Key has successfully been used for. An error
// NAK for a key is explained by comparison with them.
type keys map[keyOf]keyUse

type keyOf struct {
	host netip.Addr // host of the memory
	vni  uint32     // of the flow, 0 if it has none
	key  uint32
}

// keyUse is what an R_Key has successfully been used for.
type keyUse struct {
	from, to uint64 // address range of all successful accesses
	ops      uint16 // bit set of bth.Operations
	frame    int    // frame of the latest response
}

// maxKeys limits the number of remembered keys. At the limit all are forgotten.
const maxKeys = 4096

// recordKeyUse records that the current packet completed w successfully.
func (a *Analyzer) recordKeyUse(w *work) {
	if !w.reth && !w.dataOp() || w.total == 0 {
		return
	}
	if a.keys == nil {
		a.keys = keys{}
	}
	k := w.key()
	r, ok := a.keys[k]
	if !ok {
		if len(a.keys) >= maxKeys {
			clear(a.keys)
		}
		r = keyUse{from: w.va, to: w.va + w.total}
	}
	r.from, r.to, r.ops, r.frame = min(r.from, w.va), max(r.to, w.va+w.total), r.ops|1<<w.op, a.p.Number
	a.keys[k] = r
}

func (w *work) key() keyOf { return keyOf{w.m.Flow.Ends[1-w.m.From].Addr, w.m.Flow.VNI, w.rkey} }

// hint explains the error NAK syn for w from the earlier uses of its R_Key. It returns "" if they
// explain nothing.
func (a *Analyzer) hint(syn bth.Syndrome, w *work) string {
	if syn != bth.NakRemoteAccess || !w.reth && !w.dataOp() {
		return ""
	}
	r, ok := a.keys[w.key()]
	switch {
	case !ok:
		return fmt.Sprintf("; key %#x was not used successfully before in this capture", w.rkey)
	case w.va < r.from || w.va+w.total > r.to:
		return fmt.Sprintf("; key %#x was used for %#x to %#x only, last in frame %d, so this may be out of bounds",
			w.rkey, r.from, r.to, r.frame)
	case r.ops>>w.op&1 == 0:
		return fmt.Sprintf("; key %#x was valid for another operation in frame %d; this one may not be permitted",
			w.rkey, r.frame)
	}
	return fmt.Sprintf(
		"; key %#x worked in frame %d, so it may have been invalidated since, or belong to another protection domain",
		w.rkey, r.frame)
}

// nakFor returns the NAK that a retransmission from PSN s on may answer: the latest one, or the one
// before it if the latest requests a newer PSN.
func (st *stream) nakFor(s bth.PSN) *nak {
	if st.earlier.fresh && s.Diff(st.earlier.psn) >= 0 && (!st.nak.fresh || s.Diff(st.nak.psn) < 0) {
		return &st.earlier
	}
	return &st.nak
}

// reactionMargin is the time that a requester needs to react to a NAK, in addition to the RTT.
const reactionMargin = time.Millisecond

// reactionTime returns the maximum time in nanoseconds within which a requester reacts to the NAK
// n. A late NAK gets a short time, because requesters mostly ignore it.
func (n *nak) reactionTime(c *conn) int64 {
	switch {
	case n.late:
		return max(int64(c.RTT.Max), int64(reactionMargin))
	case c.RTT.Count == 0 && n.took > 0:
		return 4*n.took + int64(reactionMargin)
	}
	return maxReaction(c)
}

// maxReaction returns the maximum time in nanoseconds within which a requester reacts to a NAK or
// an implied NAK, based on the RTTs of c; without an RTT there is no limit.
func maxReaction(c *conn) int64 {
	if c.RTT.Count == 0 {
		return math.MaxInt64
	}
	return 4*int64(c.RTT.Max) + int64(reactionMargin)
}

// quickReaction returns the time in nanoseconds within which most requesters react to a response,
// based on the RTTs of c; without an RTT there is no limit.
func quickReaction(c *conn) int64 {
	if c.RTT.Count == 0 {
		return math.MaxInt64
	}
	return 4 * int64(c.RTT.Max)
}
