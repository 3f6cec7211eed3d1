package trace

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/fabric"
)

// Finding is a remarkable fact about a packet, with the frames that it is derived from.
type Finding struct {
	Kind  Kind
	Level Level
	// Text is one sentence: what happened and why.
	Text string
	// Frames are the frames that the finding is derived from. The frame of the packet itself is
	// the last.
	Frames []int
	// PSN and PSNs are the first PSN and the number of PSNs that a Gap reports as missing; 0 in
	// other findings.
	PSN  bth.PSN
	PSNs int
}

// Level is the severity of a finding.
type Level uint8

const (
	Info    Level = iota // normal, but worth knowing
	Warning              // costs time
	Error                // breaks a rule, or ends a connection
)

func (l Level) String() string { return [...]string{"info", "warning", "error"}[min(l, Error)] }

// Kind identifies a type of finding. Its value is stable: JSON output and filters use it.
type Kind string

const (
	WrongICRC          Kind = "icrc_wrong"
	RxeICRC            Kind = "icrc_of_rxe"     // the ICRC of a FLUSH as Linux rxe computes it
	Malformed          Kind = "malformed"       // cannot be decoded
	Gap                Kind = "gap"             // a PSN is missing
	Duplicate          Kind = "duplicate"       // a repeated packet although nothing was lost
	Reordered          Kind = "reordered"       // arrived after a packet that was sent later
	SequenceNAK        Kind = "nak_sequence"    // a responder requests a missing PSN
	ErrorNAK           Kind = "nak_error"       // a responder refuses a request; the text has address, length and key
	RNRNAK             Kind = "rnr_nak"         // no receive was posted
	AfterNAK           Kind = "again_after_nak" // a retransmission that a sequence NAK requested
	KeptEarly          Kind = "kept_early"      // a responder had kept packets after a gap
	AfterTimeout       Kind = "again_after_timeout"
	AfterRNR           Kind = "again_after_rnr"
	AfterUnknown       Kind = "again_undecided" // a retransmission whose cause the capture does not show
	ImpliedNAK         Kind = "implied_nak"     // a later response shows that an earlier one was lost
	ReadAgain          Kind = "read_again"      // a READ, or the rest of a READ, is requested again
	AtomicReplay       Kind = "atomic_replayed" // a duplicate atomic is answered with the saved result
	AckCoalesced       Kind = "ack_coalesced"   // one acknowledgement for several requests
	NoCredit           Kind = "no_credit"       // the requester has no credit to send
	ECNMarked          Kind = "ecn_ce"
	Congestion         Kind = "cnp"
	CMRetry            Kind = "cm_retry"
	CMRejected         Kind = "cm_rejected"
	NotGoBackN         Kind = "responder_breaks_go_back_n" // a responder acknowledges what it cannot have received
	InconsistentLength Kind = "pad_or_length"              // payload and headers contradict each other
	NeverMigReq        Kind = "no_migreq"                  // no MigReq in the first packets of a host
	PSNReused          Kind = "misnumbered"                // one PSN for two different packets
	Unanswered         Kind = "unanswered"                 // the capture or the connection ends before a response
)

// Kinds returns all kinds of findings.
func Kinds() []Kind {
	return []Kind{
		WrongICRC, RxeICRC, Malformed, Gap, Duplicate, Reordered, SequenceNAK, ErrorNAK, RNRNAK, AfterNAK, KeptEarly,
		AfterTimeout, AfterRNR, AfterUnknown, ImpliedNAK, ReadAgain, AtomicReplay, AckCoalesced, NoCredit, ECNMarked,
		Congestion, CMRetry, CMRejected, NotGoBackN, InconsistentLength, NeverMigReq, PSNReused, Unanswered,
	}
}

// Weight orders kinds of the same level by what they cost, the highest first: 4 for what waits for
// a timer or has an unknown cause, 3 for most kinds, 2 for retransmissions that a NAK explains,
// and 1 for congestion notifications.
func (k Kind) Weight() int {
	switch k {
	case AfterTimeout, AfterUnknown, CMRetry, CMRejected, Unanswered:
		return 4
	case AfterNAK, AfterRNR:
		return 2
	case ECNMarked, Congestion:
		return 1
	}
	return 3
}

// note adds a finding to the current packet. frames are those of Finding.Frames.
func (a *Analyzer) note(k Kind, l Level, text string, frames ...int) {
	a.p.Findings = append(a.p.Findings, Finding{Kind: k, Level: l, Text: text, Frames: frames})
}

// noteGap adds a Gap of the n PSNs from psn on to the current packet.
func (a *Analyzer) noteGap(psn bth.PSN, n int, text string, frames ...int) {
	a.note(Gap, Warning, text, frames...)
	f := &a.p.Findings[len(a.p.Findings)-1]
	f.PSN, f.PSNs = psn, n
}

// checkPacket adds the findings that depend only on the packet itself.
func (a *Analyzer) checkPacket() {
	p := a.p
	switch p.ICRC.Verdict {
	case Wrong:
		if a.good {
			a.note(WrongICRC, Warning, fmt.Sprintf("ICRC %#08x, expected %#08x; no packet from %s had a correct one, so it may be computed after the capture point",
				p.ICRC.Wire, p.ICRC.Want, fabric.AddrText(p.Src.Addr())), p.Number)
			break
		}
		a.note(WrongICRC, Error, fmt.Sprintf(
			"ICRC %#08x, expected %#08x: the packet was corrupted in transit, and the receiver drops it silently",
			p.ICRC.Wire, p.ICRC.Want), p.Number)
	case RightAsRxe:
		a.note(RxeICRC, Info,
			"the ICRC is computed as Linux rxe does for a FLUSH, over the packet twice; other receivers drop it",
			p.Number)
	}
	a.checkMigReq(a.host())
}

// malformed handles a packet that cannot be decoded. It changes nothing of the packet's flow except
// totals.
func (a *Analyzer) malformed() {
	p := a.p
	kind := Malformed
	text := "unknown packet type"
	if p.Err != nil {
		text = p.Err.Error()
		if why := (*bth.DecodeError)(nil); errors.As(p.Err, &why) && padReasons[why.Reason] {
			kind = InconsistentLength
		}
	}
	level := Error
	if p.Doubtful {
		level = Warning
	}
	a.note(kind, level, text, p.Number)
	a.line.text("cannot be decoded: ").text(text)
	if h := a.table.find(directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, net: a.net}); h != nil {
		p.Flow = h.conn.Flow
		p.Flow.Packets++
		p.Flow.Bytes += uint64(p.Len)
		p.Flow.Last = p.Time
	}
}

// reservedType reports whether the type of a syndrome has no meaning (IBA 9.7.5.1).
func reservedType(s bth.Syndrome) bool { return !s.IsAck() && !s.IsRNR() && !s.IsNak() }

// reservedSyndrome handles a response whose syndrome has a reserved type. All fields of it are
// known, but not what it answers.
func (a *Analyzer) reservedSyndrome() {
	p := a.p
	p.Role = Response
	if a.info.Op == bth.OpAck {
		p.Role = Ack
	}
	h := a.packetDirection()
	p.Flow = h.conn.Flow
	a.note(Malformed, Error, fmt.Sprintf("AETH syndrome %#02x is of a reserved type: the packet answers nothing",
		uint8(p.BTH.AETH.Syndrome)), p.Number)
	a.line.op(a.info).text(" of PSN ").psn(p.BTH.PSN).text(" with reserved syndrome ").hex(uint64(p.BTH.AETH.Syndrome)).
		text(", MSN ").int(int(p.BTH.AETH.MSN))
}

// padReasons are the decode errors of packets whose headers contradict their length.
var padReasons = map[bth.Reason]bool{
	bth.ReasonUnaligned: true, bth.ReasonPad: true, bth.ReasonUnexpectedPayload: true,
	bth.ReasonOversize: true,
}

// learnMTU derives the path MTU from the length of the current packet, unless it is the last of its
// message, or notes that the two contradict each other.
func (a *Analyzer) learnMTU(c *conn) {
	if a.info.Pos == bth.Last || a.info.Pos == bth.Only {
		return
	}
	if c.MTU == a.size {
		return
	}
	if n := a.size; n < 256 || n > bth.MaxPayload || n&(n-1) != 0 {
		a.note(InconsistentLength, Error, fmt.Sprintf(
			"%s with %d bytes: every packet of a message except the last has exactly the path MTU", a.info.Name,
			n), a.p.Number)
		return
	}
	if c.MTU == 0 || !c.MTUExact && a.size > c.MTU {
		c.MTU = a.size
		return
	}
	a.note(InconsistentLength, Error,
		fmt.Sprintf("%s carries %d bytes, but the path MTU is %d", a.info.Name, a.size, c.MTU), a.p.Number)
}

// checkLengths compares the current packet's length with the path MTU and, in a WRITE, the payload
// so far with the length in the RETH.
func (a *Analyzer) checkLengths(c *conn, w *work) {
	p := a.p
	switch {
	case a.info.Pos == bth.Last && a.size == 0:
		a.note(InconsistentLength, Error, "the last packet of a multi-packet message is empty", p.Number)
	case c.MTU > 0 && a.size > c.MTU && (c.MTUExact || a.info.Pos == bth.Last):
		a.note(InconsistentLength, Error,
			fmt.Sprintf("%s carries %d bytes, more than the path MTU of %d", a.info.Name, a.size, c.MTU), p.Number)
	}
	if w.op != bth.OpWrite || !w.reth || w.m.Partial {
		return
	}
	ends := a.ends(w)
	seen := w.m.Packets == int(p.BTH.PSN.Diff(w.first))+1
	switch {
	case !ends && w.got > w.total, ends && seen && w.got != w.total:
		a.note(InconsistentLength, Error, fmt.Sprintf("the WRITE of frame %d has DMALen %d but %d bytes of payload",
			w.m.Frames[0], w.total, w.got), w.m.Frames[0], p.Number)
	}
}

// checkRead compares the length that a READ requested with the length of its responses.
func (a *Analyzer) checkRead(w *work) {
	if w.op == bth.OpReadRequest && w.got != w.total && w.m.Packets == int(w.end.Diff(w.first)) {
		a.note(InconsistentLength, Error, fmt.Sprintf("the READ of frame %d requested %d bytes and received %d",
			w.m.Frames[0], w.total, w.got), w.m.Frames[0], a.p.Number)
	}
}

// compare notes that the current packet differs from the packet with the same PSN in r.
func (a *Analyzer) compare(r *record) {
	if r.times == 0 || r.op == a.p.BTH.Opcode && int(r.size) == a.size || a.info.Op == bth.OpReadRequest &&
		r.op == bth.RCReadRequest {
		return
	}
	a.note(PSNReused, Error, fmt.Sprintf("PSN %d is used twice: %s with %d bytes in frame %d, %s with %d bytes here",
		r.psn, r.op, r.size, r.latest(), a.p.BTH.Opcode, a.size), r.latest(), a.p.Number)
}

// hosts are the states of the source addresses.
type hosts map[netip.Addr]*host

type host struct {
	right   bool // sent a packet with a right ICRC
	migReq  bool // sent a packet with MigReq
	packets int  // number of packets without MigReq
	first   int  // frame of the first packet
}

const (
	maxHosts      = 4096
	migReqPackets = 8 // packets without MigReq after which NeverMigReq is noted
)

// host returns the state of the current packet's source, or nil if it is new and there are maxHosts
// already.
func (a *Analyzer) host() *host {
	h := a.hosts[a.p.Src.Addr()]
	if h == nil && len(a.hosts) < maxHosts {
		if a.hosts == nil {
			a.hosts = hosts{}
		}
		h = &host{first: a.p.Number}
		a.hosts[a.p.Src.Addr()] = h
	}
	return h
}

// trusted reports whether the receiver accepts the current packet, judging by its ICRC. If no
// packet of the host has had a right ICRC, its ICRCs are ignored: hardware may compute them after
// the capture point.
func (a *Analyzer) trusted() bool {
	if a.p.ICRC.Verdict == Wrong {
		h := a.host()
		return h != nil && !h.right
	}
	return true
}

// checkMigReq updates h, the source of the current packet. It notes a source that has not set
// MigReq in its first migReqPackets packets.
func (a *Analyzer) checkMigReq(h *host) {
	p := a.p
	if h == nil || p.Err != nil || !a.good || a.info.Service == bth.ServiceCNP {
		return
	}
	h.right = h.right || p.ICRC.Verdict == Right || p.ICRC.Verdict == RightAsRxe
	if p.BTH.MigReq {
		h.migReq = true
	}
	if h.migReq || h.packets >= migReqPackets {
		return
	}
	if h.packets++; h.packets == migReqPackets {
		a.note(NeverMigReq, Info, fmt.Sprintf("%s has not set MigReq in its first %d packets (Linux rxe never sets it); most RNICs do, because a queue pair starts in path migration state MIGRATED", fabric.AddrText(p.Src.Addr()), migReqPackets), h.first, p.Number)
	}
}

// analyseWrongICRC handles a packet with a wrong ICRC, which the receiver drops and whose headers
// may be corrupt. It returns true only for a request with exactly the next PSN: the caller analyses
// this one as a request that was sent and lost.
func (a *Analyzer) analyseWrongICRC() bool {
	p := a.p
	h := a.table.find(directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, net: a.net})
	if h != nil {
		p.Flow = h.conn.Flow
		if st := h.conn.seen(h.from); h.service == a.info.Service && a.info.Request() && st.open &&
			p.BTH.PSN == st.latestEnd {
			return true
		}
	}
	a.line.op(a.info).text(" with PSN ").psn(p.BTH.PSN).text(", wrong ICRC: dropped by the receiver")
	return false
}
