package model

import (
	"bytes"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// requester models the requester of a reliable connection. PSNs are counted from the first of the
// epoch.
type requester struct {
	una, cursor, next    int64         // oldest unacknowledged, next to be sent, highest ever sent + 1
	window               int64         // maximum number of unacknowledged PSNs
	windowFull, lossSeen bool          // the window was full since it last grew; a loss in this epoch
	grown                int64         // PSNs acknowledged since the window last grew, after a loss
	round, repeated      int64         // PSNs acknowledged, PSNs sent again, since a window was acknowledged
	sinceNAK             int64         // PSNs acknowledged since the last NAK
	idleNAKs             int           // consecutive NAKs without progress; see onNAK
	reactedToNAK         bool          // to a NAK since una last advanced
	waiting              bool          // an RNR timer runs
	rnrUntil             scenario.Time // time at which the RNR timer ends

	reads    []extent // READs and atomics sent since the last go-back, and ATOMIC WRITEs
	sinceAck int      // packets since the last with AckReq

	armed    bool          // the local ACK timer runs
	deadline scenario.Time // expiry of the local ACK timer
	backoff  int           // times that the timer has expired since una last advanced

	vainRepairs     int   // failed repairs since the peer last proved to keep packets after a gap
	proven          bool  // the peer has proved to keep packets after a gap
	wentBackForNAK  bool  // after a sequence NAK, until una advances
	repairDue       bool  // the packet at una is to be retransmitted alone
	repairingForNAK bool  // a repair for a sequence NAK is in progress
	repaired        int64 // one after the last PSN of the repaired packet

	pace

	sentAt scenario.Time // time of the last request, 0: never

	retries int // retries used since una last advanced
	rnrs    int // RNR NAKs since una last advanced
}

// onTimeout sets the window to half of the outstanding PSNs, after the local ACK timeout.
func (r *requester) onTimeout() { r.window, r.lossSeen = max(1, (r.cursor-r.una)/2), true }

// onNAK updates the window after a NAK: eight NAKs in a row with hardly any progress between them
// count as a timeout.
func (r *requester) onNAK() {
	if r.idleNAKs++; 4*r.sinceNAK > r.cursor-r.una {
		r.idleNAKs = 0
	}
	if r.idleNAKs >= 8 {
		r.onTimeout()
	}
	r.sinceNAK = 0
}

// onLoss reduces the window to 0.7 times its size, but not below its initial size, when more than
// half a step of PSNs has been sent again in a round. again is the number of PSNs that are sent
// again because of this loss.
func (e *end) onLoss(again int64) {
	r := &e.requester
	r.onNAK()
	r.lossSeen = true
	base, step := e.psnWindow(), e.windowStep()
	if r.repeated += again; r.repeated <= step/2 {
		return
	}
	r.grown, r.repeated = 0, 0
	r.window = max(min(r.window, base), r.window*7/10/step*step)
}

// windowStep returns the step, in PSNs, by which the window changes after the first loss.
func (e *end) windowStep() int64 { return max(1, e.psnWindow()/4) }

// onAck updates the window after n PSNs were acknowledged.
func (e *end) onAck(n int64) {
	r := &e.requester
	base, most := e.psnWindow(), e.maxWindow()
	if r.round += n; r.round >= r.window {
		r.round, r.repeated = 0, 0
	}
	if r.window < base {
		r.window = min(r.window+n, base)
		return
	}
	if !r.windowFull || r.window == most {
		return
	}
	if r.lossSeen {
		if r.grown += n; r.grown < 4*r.window {
			return
		}
		r.grown, n = 0, e.windowStep()
	}
	r.windowFull, r.window = false, min(r.window+n, most)
}

// goBack makes the oldest unacknowledged PSN the next to be sent. It stops the local ACK timer,
// which the next transmission starts again.
func (r *requester) goBack() {
	r.armed = false
	r.cursor = r.una
	r.reads = r.reads[:0]
	r.sinceAck = 0
	r.repairDue, r.repairingForNAK, r.wentBackForNAK, r.timing = false, false, false, false
}

// arm starts the local ACK timer: 4.096 µs × 2^timeout (IBA 9.7.6.1.3), doubled for each expiry
// without progress.
func (e *end) arm() {
	r := &e.requester
	t := transport.AckTimeout(e.spec.Timeout) * min(1<<min(r.backoff, 2), scenario.Time(e.spec.Config.BackoffLimit))
	r.armed, r.deadline = true, e.net.Now+t
	e.plan()
}

// alarm returns the time that the machine's NextTimeout must return, 0: never.
func (e *end) alarm() scenario.Time {
	switch r := &e.requester; {
	case !e.alive():
		return 0
	case r.waiting:
		return r.rnrUntil
	case e.waitsForShare():
		return e.blockedUntil()
	case r.armed && r.probeAt != 0:
		return r.probeAt
	case r.armed:
		return r.deadline
	}
	return 0
}

// extent is the range of PSNs [first, end) of one READ or atomic.
type extent struct{ first, end int64 }

func waitsForData(op qp.WROpcode) bool {
	return op == qp.WRRead || op == qp.WRFetchAdd || op == qp.WRCmpSwap
}

// usesSlot reports whether max_rd_atomic limits op.
func usesSlot(op qp.WROpcode) bool { return waitsForData(op) || op == qp.WRAtomicWrite }

// hasResponse reports whether op has its own response.
func hasResponse(op qp.WROpcode) bool { return usesSlot(op) || op == qp.WRFlush }

// place returns the position of the packet at seq in the message of s.
func place(s *sent, seq int64) bth.Position {
	switch begins, ends := s.split || seq == s.first, s.split || seq == s.end-1; {
	case begins && ends:
		return bth.Only
	case begins:
		return bth.First
	case ends:
		return bth.Last
	}
	return bth.Middle
}

// requestOps maps work request opcodes to wire operations.
var requestOps = map[qp.WROpcode]bth.Operation{
	qp.WRSend: bth.OpSend, qp.WRSendImm: bth.OpSend, qp.WRSendInv: bth.OpSend,
	qp.WRWrite: bth.OpWrite, qp.WRWriteImm: bth.OpWrite,
	qp.WRRead: bth.OpReadRequest, qp.WRFetchAdd: bth.OpFetchAdd, qp.WRCmpSwap: bth.OpCmpSwap,
	qp.WRFlush: bth.OpFlush, qp.WRAtomicWrite: bth.OpAtomicWrite,
}

// emitted checks a request packet that e sends and advances the cursor.
func (e *end) emitted(p *bth.Packet, info *bth.OpcodeInfo) {
	r := &e.requester
	seq := e.seq(p.PSN)
	s := e.at(seq)
	if s == nil {
		e.fail("%s with PSN %d belongs to no request", info.Name, p.PSN)
		return
	}
	n := int64(1)
	if s.op == qp.WRRead {
		n = e.packets(uint64(p.RETH.DMALen))
	}
	if r.repairDue {
		e.repairs(p, info, s, seq)
		return
	}
	if seq != r.cursor {
		e.fail("%s is number %d, the next to be sent is %d and the oldest unacknowledged %d", info.Name, seq,
			r.cursor, r.una)
		return
	}
	if e.net.Now < r.rnrUntil {
		e.fail("%s is sent %d ns before the RNR timer ends", info.Name, r.rnrUntil-e.net.Now)
	}
	if r.proven && seq == r.next && p.AckReq && !r.timing && !r.reactedToNAK && r.probes == 0 {
		r.timing, r.timed, r.timedAt = true, seq, e.net.Now
	}
	r.cursor = seq + n
	r.windowFull = r.windowFull || r.cursor-r.una >= r.window
	if !r.armed {
		e.arm()
	}
	if r.cursor > r.next {
		if s.first == seq {
			e.checkBegin(s)
		}
		if s.first == seq && s.act.Flags&qp.Fence != 0 && slices.ContainsFunc(e.sends[:e.index(s)], func(o *sent) bool {
			return usesSlot(o.op) && o.end > r.una
		}) {
			e.fail("%s is fenced and does not wait for the READs and atomics before it", info.Name)
		}
		r.next = r.cursor
	}
	if alone := s.op == qp.WRRead && seq == r.una; r.cursor-r.una > r.maxUnacked(s.op) && !alone {
		e.fail("%s makes %d PSNs unacknowledged, the window is %d", info.Name, r.cursor-r.una, r.window)
	}
	if usesSlot(s.op) {
		r.reads = slices.DeleteFunc(r.reads, func(x extent) bool { return x.end <= r.una })
		r.reads = append(r.reads, extent{seq, r.cursor})
		if len(r.reads) > int(e.spec.MaxRdAtomic) {
			e.fail("%d READs and atomics are outstanding, max_rd_atomic is %d", len(r.reads), e.spec.MaxRdAtomic)
		}
	}
	e.shares(n, s.op == qp.WRRead)
	e.asksForAck(p, s, seq, n)
	e.checkRequest(p, info, s, seq)
}

// index returns the index of s in e.sends.
func (e *end) index(s *sent) int {
	i, _ := slices.BinarySearchFunc(e.sends, s.first, func(o *sent, first int64) int { return int(o.first - first) })
	return i
}

// asksForAck checks that AckReq is set in the packet that fills the window, in the last packet of
// each message, and in every AckEvery-th packet: without AckReq the peer need not acknowledge.
func (e *end) asksForAck(p *bth.Packet, s *sent, seq, n int64) {
	r := &e.requester
	r.sinceAck++
	switch {
	case p.AckReq:
		r.sinceAck = 0
	case seq == s.end-1:
		e.fail("the last packet of request %d does not ask for an acknowledgement", s.id)
	case r.cursor-r.una >= r.maxUnacked(s.op):
		e.fail("the packet that fills the window does not ask for an acknowledgement")
	case r.sinceAck > e.spec.Config.AckEvery && seq >= r.una+int64(e.spec.Config.AckEvery):
		e.fail("%d packets in a row do not ask for an acknowledgement", r.sinceAck)
	}
}

// checkRequest checks the content of a request packet against its work request.
func (e *end) checkRequest(p *bth.Packet, info *bth.OpcodeInfo, s *sent, seq int64) {
	ends := seq == s.end-1
	wantPos := place(s, seq)
	if s.op == qp.WRRead {
		wantPos = bth.Only
	}
	imm := ends && (s.op == qp.WRSendImm || s.op == qp.WRWriteImm)
	se := ends && s.act.Flags&qp.Solicited != 0 && scenario.TakesReceive(s.op)
	if info.Op != requestOps[s.op] || info.Pos != wantPos || (info.Headers&bth.HasImmDt != 0) != imm {
		e.fail("%s is sent for packet %d of %d of a %v", info.Name, seq-s.first, s.end-s.first, s.op)
		return
	}
	if inv := ends && s.op == qp.WRSendInv; inv != (info.Headers&bth.HasIETH != 0) || inv && p.InvalidateRKey != s.imm {
		e.fail("%s invalidates %#x, want %#x", info.Name, p.InvalidateRKey, s.imm)
	}
	if imm && p.Imm != s.imm || p.Solicited != se {
		e.fail("%s with immediate %#x and SE %t, want %#x and %t", info.Name, p.Imm, p.Solicited, s.imm, se)
	}
	off := uint64(seq-s.first) * uint64(e.conn.spec.MTU)
	switch {
	case info.Headers&bth.HasAtomicETH != 0:
		h := bth.AtomicETH{VA: s.remote, RKey: s.rkey, SwapAdd: s.compareAdd}
		if s.op == qp.WRCmpSwap {
			h.SwapAdd, h.Compare = s.swap, s.compareAdd
		}
		if p.AtomicETH != h {
			e.fail("%s carries %+v, want %+v", info.Name, p.AtomicETH, h)
		}
		return
	case s.op == qp.WRRead:
		n := uint64(p.RETH.DMALen)
		mtu := uint64(e.conn.spec.MTU)
		if p.RETH.VA != s.remote+off || p.RETH.RKey != s.rkey || off+n > s.length || off+n < s.length && n%mtu != 0 ||
			n == 0 && s.length > 0 {
			e.fail("READ request %+v at byte %d of a READ of %d bytes from %#x", p.RETH, off, s.length, s.remote)
		}
		return
	case s.op == qp.WRFlush:
		f := flushOf(s.act)
		h, g := bth.RETH{VA: s.remote, RKey: s.rkey, DMALen: f.Length},
			bth.FETH{Type: uint8(f.Type), Level: uint8(f.Level)}
		if p.RETH != h || p.FETH != g {
			e.fail("%s carries %+v and %+v, want %+v and %+v", info.Name, p.RETH, p.FETH, h, g)
		}
		return
	case info.Headers&bth.HasRETH != 0:
		h := bth.RETH{VA: s.remote, RKey: s.rkey, DMALen: uint32(s.length)}
		if s.split {
			h.VA, h.DMALen = s.remote+off, uint32(min(s.length-off, uint64(e.conn.spec.MTU)))
		}
		if p.RETH != h {
			e.fail("%s carries %+v, want %+v", info.Name, p.RETH, h)
		}
	}
	n := min(s.length-off, uint64(e.conn.spec.MTU))
	if !bytes.Equal(p.Payload, e.message(s, off, n)) {
		e.fail("%s of request %d does not carry the %d bytes at offset %d of the message", info.Name, s.id, n, off)
	}
}
