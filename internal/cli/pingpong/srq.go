package pingpong

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// srqEnd is one end of ibv_srq_pingpong: messages are exchanged on every queue pair, and all
// receives come from one queue. A stock tool uses one buffer for all sends and receives of all
// queue pairs, so only the first byte of every page is known: it is 0.
type srqEnd struct {
	*session.Session
	params *params
	out    io.Writer

	cq     session.Waiter
	srq    *verbs.SRQ
	qps    []*srqQP
	byQPN  map[verbs.QPN]*srqQP
	sendMR *verbs.MR
	slots  []byte // received messages: one slot for all without -c, otherwise one for each receive
	slotMR *verbs.MR
	free   []int // slots without a posted receive

	sent, received int
	progress       atomic.Uint64
}

// srqQP is a queue pair. It sends its next message when the last one is complete and the peer's
// has arrived.
type srqQP struct {
	*verbs.QP
	index            int
	psn              verbs.PSN
	remote           wire.Dest
	sending, waiting bool // waits for the completion of its send, or for the peer's message
}

// srqRecvID marks the work request IDs of receives, whose other bits are the slot. The ID of a
// send is the index of its queue pair.
const srqRecvID = 1 << 32

func (e *srqEnd) setUp() error {
	p := e.params
	buf := make([]byte, p.size*p.qps)
	slots := 1
	if p.chk {
		slots = p.rxDepth
		for i := range p.qps {
			fillPattern(buf[i*p.size:][:p.size], e.Role, i)
		}
	}
	e.slots = make([]byte, slots*p.size)
	pd := e.Device.AllocPD()
	var err error
	if e.sendMR, err = pd.RegMR(buf, 0); err != nil {
		return err
	}
	if e.slotMR, err = pd.RegMR(e.slots, verbs.LocalWrite); err != nil {
		return err
	}
	cq, err := e.Device.CreateCQ(p.rxDepth + p.qps)
	if err != nil {
		return err
	}
	e.cq = session.Waiter{CQ: cq}
	if e.srq, err = pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: p.rxDepth, MaxSGE: 1}); err != nil {
		return err
	}
	e.byQPN = map[verbs.QPN]*srqQP{}
	for i := range p.qps {
		q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq, SRQ: e.srq, Cap: verbs.QPCap{MaxSendWR: 1, MaxSendSGE: 1}})
		if err != nil {
			return err
		}
		e.qps = append(e.qps, &srqQP{QP: q, index: i, psn: verbs.RandomPSN()})
		e.byQPN[q.QPN()] = e.qps[i]
	}
	for i := range p.rxDepth {
		e.free = append(e.free, i%slots)
	}
	return e.postReceives()
}

// postReceives posts receives for all free slots.
func (e *srqEnd) postReceives() error {
	for _, slot := range e.free {
		wr := verbs.RecvWR{ID: srqRecvID | uint64(slot),
			SGList: []verbs.SGE{e.slotMR.SGE(slot*e.params.size, e.params.size)}}
		if err := e.srq.PostRecv(&wr); err != nil {
			return err
		}
	}
	e.free = e.free[:0]
	return nil
}

func (e *srqEnd) local() []wire.Dest {
	d := make([]wire.Dest, wire.SRQRecords)
	for i, q := range e.qps {
		d[i] = wire.Dest{QPN: uint32(q.QPN()), PSN: uint32(q.psn), GID: e.GID.GID}
		printAddress(e.out, "local address: ", d[i])
	}
	return d
}

func (e *srqEnd) connect(remote []wire.Dest) error {
	for i, q := range e.qps {
		q.remote = remote[i]
		if q.remote.QPN == 0 {
			return fmt.Errorf("the peer has %d queue pairs, want %d: give both ends the same number with -q",
				i, len(e.qps))
		}
		printAddress(e.out, "remote address:", q.remote)
		if err := app.CheckPeerGID(e.GID, verbs.GID(q.remote.GID), "-g"); err != nil {
			return err
		}
		if err := e.CheckNamed(q.remote.GID, "-g"); err != nil {
			return err
		}
		if err := connectQP(e.Session, q.QP, q.psn, q.remote); err != nil {
			return err
		}
	}
	return nil
}

// traffic exchanges messages on all queue pairs. As in the stock tool, params.iters is the total
// number of messages.
func (e *srqEnd) traffic(ctx context.Context) error {
	p := e.params
	start := time.Now()
	for _, q := range e.qps {
		q.waiting = true
		if e.Role == exchange.Client {
			if err := e.post(q); err != nil {
				return err
			}
		}
	}
	wc := make([]verbs.WC, len(e.qps))
	for e.sent < p.iters || e.received < p.iters {
		n, err := e.cq.Next(ctx, wc)
		if err != nil {
			return err
		}
		e.progress.Add(uint64(n))
		for i := range wc[:n] {
			if err := e.take(&wc[i]); err != nil {
				return err
			}
		}
	}
	p.report(e.out, time.Since(start))
	if p.chk {
		fmt.Fprintf(e.out, "the first byte of every page of %d received messages is correct\n", e.received)
	}
	qps := make([]*verbs.QP, len(e.qps))
	for i, q := range e.qps {
		qps[i] = q.QP
	}
	session.Linger(ctx, qps...)
	return nil
}

func (e *srqEnd) post(q *srqQP) error {
	q.sending, q.waiting = true, true
	return q.PostSend(&verbs.SendWR{
		ID: uint64(q.index), Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{e.sendMR.SGE(q.index*e.params.size, e.params.size)},
	})
}

// take processes one completion.
func (e *srqEnd) take(wc *verbs.WC) error {
	q := e.byQPN[wc.QPN]
	switch {
	case wc.Status != verbs.WCSuccess && e.partedWell(wc):
		e.sent++
		return nil
	case wc.Status != verbs.WCSuccess:
		done := fmt.Sprintf("%d of %d messages", min(e.sent, e.received), e.params.iters)
		return &session.CompletionError{WC: *wc, Done: done, Device: e.Device, Peer: q.remote.GID}
	case wc.WRID&srqRecvID == 0:
		e.sent++
		q.sending = false
	default:
		if err := e.takeMessage(wc); err != nil {
			return err
		}
		q.waiting = false
	}
	if q.sending || q.waiting || e.sent >= e.params.iters {
		return nil
	}
	return e.post(q)
}

func (e *srqEnd) takeMessage(wc *verbs.WC) error {
	p := e.params
	slot := int(wc.WRID &^ srqRecvID)
	if int(wc.ByteLen) != p.size {
		return fmt.Errorf("a message of QP %#06x has %d bytes, want %d: give both ends the same -s", uint32(wc.QPN),
			wc.ByteLen, p.size)
	}
	if p.chk {
		for at := 0; at < p.size; at += pageSize {
			if b := e.slots[slot*p.size+at]; b != 0 {
				return fmt.Errorf("invalid data in a message of QP %#06x: byte %d is %#02x, want 0",
					uint32(wc.QPN), at, b)
			}
		}
	}
	e.received++
	e.free = append(e.free, slot)
	if p.rxDepth-len(e.free) <= len(e.qps) {
		return e.postReceives()
	}
	return nil
}

// partedWell reports whether wc is a send that failed only because the peer has left: the stock
// tool leaves when it has sent and received all messages.
func (e *srqEnd) partedWell(wc *verbs.WC) bool {
	return wc.WRID&srqRecvID == 0 && e.received >= e.params.iters &&
		(wc.Status == verbs.WCRetryExcErr || wc.Status == verbs.WCWRFlushErr)
}

func (e *srqEnd) standing() session.Snapshot {
	s := session.Snapshot{Progress: e.progress.Load()}
	for _, q := range e.qps {
		s.Add(q.QP)
	}
	return s
}
