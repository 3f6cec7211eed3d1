package transport

import (
	"bytes"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// Regions of a pairEnd, by their place in memory. Between them lies memory without a key.
const (
	pairRW    = iota // all rights: WRITEs and READs of the peer, windows, data to send
	pairRO           // remote READ, never written
	pairAt           // remote atomics
	pairOwn          // local rights: target of receives and READs
	pairShut         // local rights, and no work request names it
	pairOther        // every right, in another protection domain
	pairFast         // range of fast registrations
	pairPlaces
)

var pairAccess = [pairPlaces]mr.Access{
	pairRW:    mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.MWBind | mr.FlushGlobal,
	pairRO:    mr.RemoteRead,
	pairAt:    mr.LocalWrite | mr.RemoteAtomic,
	pairOwn:   mr.LocalWrite,
	pairShut:  mr.LocalWrite,
	pairOther: mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic,
}

// pairNeeds is the right that a request needs on the queue pair.
var pairNeeds = map[bth.Operation]mr.Access{
	bth.OpWrite: mr.RemoteWrite, bth.OpReadRequest: mr.RemoteRead, bth.OpCmpSwap: mr.RemoteAtomic,
	bth.OpFetchAdd:    mr.RemoteAtomic,
	bth.OpAtomicWrite: mr.RemoteWrite, bth.OpFlush: mr.FlushGlobal,
}

const pairWindow = 32 // maximum number of outstanding PSNs

// Limits on what a packet may cause. A fix that makes a machine answer less lowers them.
const (
	// answersOfRequest is the maximum answer to a request in bytes, without READ data: an ACK
	// before a sequence NAK, for Linux rxe, and that NAK or the response of an atomic.
	answersOfRequest = 2 * (bth.BTHLen + bth.AETHLen + bth.AtomicAckETHLen)
	// replaysOfDuplicate is how many times a READ's data may be sent for a duplicate of it.
	replaysOfDuplicate = 1
	// resentOfResponse is how many packets may be sent again for one response or one timeout.
	resentOfResponse = 2 * pairWindow
)

// pairEnd is one of two connected machines.
type pairEnd struct {
	m          *match
	c          *RC
	q          *qp.QP
	pool       EarlyPool
	keys       *mr.Table
	pd         *mr.PD
	mem        []byte
	regions    [pairPlaces]*mr.Region // nil at pairFast
	frozen     [pairPlaces][]byte     // content of a place when its region was deregistered
	windows    [2]*mr.Window
	fast       *mr.FastRegion
	stale      []uint32 // keys that are no longer valid
	peer       *pairEnd
	far        [pairPlaces]*farPlace // of a far end, see [match.distant]
	storeBatch StoreBatch
	lent       [][]byte // packets that the StoreBatch may borrow

	posted, done [2]uint64 // work requests of the send and the receive queue
	refused      bool      // the last packet was an error NAK

	granted, answered uint64 // bytes of responses that were requested, and that were sent
	events            uint64 // responses and timeouts
	left              uint64 // packets sent
}

func newPairEnd(m *match, num bth.QPN, access mr.Access) *pairEnd {
	e := &pairEnd{m: m, keys: mr.NewTable([32]byte{byte(num)}, 100), pd: &mr.PD{ID: 1}}
	e.mem = bytes.Repeat([]byte{secret}, (2*pairPlaces+1)*benchPage)
	for i := range pairPlaces {
		switch i {
		case pairShut, pairOther:
		case pairAt:
			clear(e.place(i))
		default:
			copy(e.place(i), benchPayload)
		}
		e.register(i)
	}
	gone, err := e.keys.Register(e.pd, mr.Bytes(e.mem[:benchPage]), 0, benchPage, pairAccess[pairOther])
	m.must(err)
	e.stale = append(e.stale, gone.RKey())
	m.must(e.keys.Deregister(gone))
	for i, typ := range []mr.WindowType{mr.WindowType1, mr.WindowType2} {
		e.windows[i], err = e.keys.AllocWindow(e.pd, typ)
		m.must(err)
	}
	e.fast, err = e.keys.AllocFast(e.pd, benchPage)
	m.must(err)
	e.q = &qp.QP{
		Num: num, Type: qp.RC, PD: e.pd, SigAll: true,
		SQ: qp.NewSendQueue(16, 2, true), Recv: qp.NewRecvQueue(e.pd, 16, 2), SendCQ: e, RecvCQ: e,
	}
	e.c = NewRC(e.q, e.keys, &Config{Window: pairWindow / 2, MaxWindow: pairWindow, AckEvery: 4})
	e.c.ShareEarly(&e.pool)
	if m.distant {
		e.c.ShareStoreBatch(&e.storeBatch)
	}
	e.q.Attr.Access = access
	return e
}

func (e *pairEnd) place(i int) []byte { return e.mem[(2*i+1)*benchPage:][:benchPage] }
func (e *pairEnd) iova(i int) uint64  { return uint64(0x10000 * (i + 1)) }

// register registers a region at place i, unless there is one or must be none.
func (e *pairEnd) register(i int) {
	if i == pairFast || e.regions[i] != nil && e.regions[i].Valid() {
		return
	}
	e.thaw(i)
	pd := e.pd
	if i == pairOther {
		pd = &mr.PD{ID: 2}
	}
	var err error
	e.regions[i], err = e.keys.Register(pd, e.memory(i), e.iova(i), benchPage, pairAccess[i])
	e.m.must(err)
}

// deregister deregisters a region, which windows may prevent. From then on its memory must not
// change.
func (e *pairEnd) deregister(i int) {
	if i == pairFast || !e.regions[i].Valid() || e.keys.Deregister(e.regions[i]) != nil {
		return
	}
	e.stale = append(e.stale, e.regions[i].RKey())
	e.frozen[i] = bytes.Clone(e.place(i))
}

// thaw fails if memory without a region has changed since its region was deregistered.
func (e *pairEnd) thaw(i int) {
	if e.frozen[i] != nil && !bytes.Equal(e.frozen[i], e.place(i)) {
		e.m.fail("%v: memory at place %d was written to after its region was deregistered", e, i)
	}
	e.frozen[i] = nil
}

func (e *pairEnd) String() string { return fmt.Sprintf("QP %#x", uint32(e.q.Num)) }

// connect takes the queue pair from RESET to RTS.
func (e *pairEnd) connect(rqPSN, sqPSN bth.PSN) {
	access := e.q.Attr.Access
	for _, st := range []qp.State{qp.RESET, qp.INIT, qp.RTR, qp.RTS} {
		e.q.Attr = qp.Attr{
			State: st, PathMTU: benchMTU, DestQPN: e.peer.q.Num, RQPSN: rqPSN, SQPSN: sqPSN, Access: access,
			MaxRdAtomic: 3, MaxDestRdAtomic: 3, MinRNRTimer: 1, Timeout: 8, RetryCnt: 3, RNRRetry: 3,
		}
		e.c.Modified(e.m.now)
	}
	e.done, e.refused = e.posted, false
}

func (e *pairEnd) modify(s qp.State) {
	e.q.Attr.State = s
	e.c.Modified(e.m.now)
}

// Complete counts a completion and checks that the work requests of each queue complete once and
// in order.
func (e *pairEnd) Complete(wc *qp.WC) {
	queue := wc.WRID >> 32
	if id := wc.WRID & 0xffffffff; id != e.done[queue] || id >= e.posted[queue] {
		e.m.fail("%v: work request %d of queue %d completes as %s; %d completed before it, %d are posted",
			e, id, queue, wc.Status.Name(), e.done[queue], e.posted[queue])
	}
	e.done[queue]++
}

// transmit lets the machine send at most n packets, checks them and puts them on the wire.
func (e *pairEnd) transmit(n int) (more bool) {
	e.settle()
	before, b := e.q.State(), e.m.batch
	more = e.c.Transmit(e.m.now, nil, b, n)
	if b.Len() > n {
		e.m.fail("%v: %d packets where %d may leave", e, b.Len(), n)
	}
	for i := range b.Len() {
		e.sent(before, b.At(i))
	}
	b.Reset()
	return more
}

// flush transmits until there is nothing more to send, and fails if that never happens.
func (e *pairEnd) flush() (moved bool) {
	before := e.left
	for turns := 0; e.transmit(16) && e.m.err == nil; turns++ {
		if turns > 1000 {
			e.m.fail("%v: goes on sending where nothing arrives", e)
		}
	}
	return e.left > before
}

func (e *pairEnd) sent(before qp.State, f *packet.Frame) {
	raw := f.AppendTo(nil)
	var p bth.Packet
	if err := p.Decode(append(raw, 0, 0, 0, 0)); err != nil {
		e.m.fail("%v: sent a packet that does not decode: %v", e, err)
		return
	}
	if p.DestQP != e.peer.q.Num || len(p.Payload) > benchMTU {
		e.m.fail("%v: sent %v to %#x with %d bytes", e, p.Opcode, uint32(p.DestQP), len(p.Payload))
	}
	if bytes.Contains(p.Payload, pairSecret) {
		e.m.fail("%v: %v shows memory that no key opens", e, p.Opcode)
	}
	access, info := e.q.Attr.Access, p.Opcode.Info()
	if info.Op == bth.OpReadResponse && len(p.Payload) > 0 && access&mr.RemoteRead == 0 ||
		info.Op == bth.OpAtomicAck && access&mr.RemoteAtomic == 0 {
		e.m.fail("%v: sent %v, its peer has access %v", e, p.Opcode, access)
	}
	if info.Response() {
		if e.answered += uint64(len(raw)); e.answered > e.granted {
			e.m.fail("%v: answered with %d bytes where %d were asked for", e, e.answered, e.granted)
		}
	}
	// An error NAK is the last packet of a queue pair.
	nak := p.Opcode == bth.RCAck && p.AETH.Syndrome.IsNak() && p.AETH.Syndrome != bth.NakPSNSequence
	if before == qp.ERR && (e.refused || !nak) {
		e.m.fail("%v: sent %v in ERR", e, p.Opcode)
	}
	e.refused = nak && e.q.State() == qp.ERR
	e.left++
	e.m.put(e.peer, raw)
}

// receive delivers a packet and counts what the machine may answer to it.
func (e *pairEnd) receive(raw []byte) {
	var p bth.Packet
	if p.Decode(e.lend(raw)) != nil || p.DestQP != e.q.Num || p.PKey != defaultPKey {
		return // the device drops it
	}
	info := p.Opcode.Info()
	if info.Response() {
		e.events++
	}
	// Counted before execution, because kept packets are executed when the gap closes.
	v := e.c.Receive(e.m.now, &p)
	if !info.Request() || v == WrongState || v == WrongService {
		return
	}
	if access := e.q.Attr.Access; v == Accepted && access&pairNeeds[info.Op] != pairNeeds[info.Op] {
		e.m.fail("%v: accepted %v, its peer has access %v", e, p.Opcode, access)
	}
	e.granted += answersOfRequest
	if info.Op != bth.OpReadRequest {
		return
	}
	n := uint64(min(p.RETH.DMALen, benchPage))
	n += uint64(packets(n, benchMTU)) * (bth.BTHLen + bth.AETHLen + 3)
	switch v {
	case Accepted, OutOfSequence:
		e.granted += n
	case Duplicate:
		e.granted += n * replaysOfDuplicate
	}
}

// expire fires the timer and checks that the next deadline is in the future.
func (e *pairEnd) expire() {
	for range 4 {
		e.events++
		e.c.Timeout(e.m.now)
		if at, ok := e.c.NextTimeout(); !ok || at > e.m.now {
			return
		}
	}
	at, _ := e.c.NextTimeout()
	e.m.fail("%v: the deadline stays at %d, now is %d", e, at, e.m.now)
}

// check checks the end against its limits.
func (e *pairEnd) check() {
	p := e.c.Progress()
	if d := distance(p.AckPSN, p.SendPSN); d > 2*pairWindow {
		e.m.fail("%v: %d PSNs are outstanding, the window has %d", e, d, pairWindow)
	}
	if p.Reads < 0 || p.Reads > 3 {
		e.m.fail("%v: %d READs and atomics are outstanding, max_rd_atomic is 3", e, p.Reads)
	}
	if n := e.pool.Lent(); n > 2*pairWindow || n > 0 && e.q.State() == qp.ERR {
		e.m.fail("%v: %d packets are kept in %v", e, n, e.q.State())
	}
	if n := e.c.Counters().Retransmitted; n > e.events*resentOfResponse {
		e.m.fail("%v: %d packets were sent again for %d responses and timeouts", e, n, e.events)
	}
}

// end puts the queue pair into ERR and checks the final state.
func (e *pairEnd) end() {
	e.modify(qp.ERR)
	e.flush()
	if e.done != e.posted {
		e.m.fail("%v: %v of %v work requests completed", e, e.done, e.posted)
	}
	if n := e.q.SQ.Len() + e.q.Recv.Len() + e.pool.Lent(); n != 0 {
		e.m.fail("%v: %d work requests and packets are left in ERR", e, n)
	}
	for i := range pairPlaces {
		e.thaw(i)
	}
	for i := range 2*pairPlaces + 1 {
		closed := i%2 == 0 || i/2 == pairShut || i/2 == pairOther
		if closed && bytes.Count(e.mem[i*benchPage:][:benchPage], pairSecret[:1]) != benchPage {
			e.m.fail("%v: memory that no key opens was written to, in page %d", e, i)
		}
	}
	if !bytes.Equal(e.place(pairRO), benchPayload[:benchPage]) {
		e.m.fail("%v: memory that is open to READs was written to", e)
	}
}
