package perf

import (
	"math/rand/v2"

	"github.com/gorxe/gorxe/internal/cli/session"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// The buffer has perftest's layout, because the peer is told addresses in it: for n queue pairs
// first n halves for this end's messages, then n halves that the peer writes or reads, or that
// receive. A half holds the largest message, and at least one page. Messages of up to half a page
// use successive cache lines of that page.

// roundUp returns the smallest multiple of step that is at least n, and at least step.
func roundUp(n, step uint64) uint64 { return max(step, (n+step-1)/step*step) }

// half returns the size of a half in bytes: at least a page.
func (e *end) half() uint64 { return e.params.unit(e.cycle) }

// halfOffset returns the offset of the half that the peer of queue pair qp writes or reads.
func (e *end) halfOffset(qp int) uint64 { return uint64(len(e.qps)+qp) * e.half() }

// receiveOffset returns the offset of the half for receives of queue pair qp. These halves start at
// multiples of the cache line.
func (e *end) receiveOffset(qp int) uint64 {
	return uint64(len(e.qps)+qp) * roundUp(e.half(), e.cacheLine)
}

// setUp makes the memory and the queue pairs.
func (e *end) setUp() error {
	p := e.params
	e.buf = make([]byte, 2*uint64(p.qps)*roundUp(e.half(), e.cacheLine))
	if p.test != wire.WriteLat { // write_lat waits for its memory to change from 0
		fill(e.buf, p.payload)
	}
	e.pd = e.Device.AllocPD()
	var err error
	if e.mr, err = e.pd.RegMR(e.buf, verbs.LocalWrite|p.access(), verbs.WithRandomIOVA()); err != nil {
		return err
	}
	depth := p.txDepth/p.cqMod + 1
	if p.twoSided() {
		depth += p.rxDepth
	}
	cq, err := e.Device.CreateCQ(depth * p.qps)
	if err != nil {
		return err
	}
	e.cq = session.Waiter{CQ: cq, Mode: p.waiting()}
	for range p.qps {
		qp, err := e.pd.CreateQP(verbs.QPInitAttr{Type: p.service, SendCQ: cq, Cap: verbs.QPCap{
			MaxSendWR: p.txDepth, MaxRecvWR: p.rxDepth, MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: p.inline,
		}})
		if err != nil {
			return err
		}
		e.qps = append(e.qps, &queuePair{QP: qp, psn: verbs.RandomPSN()})
	}
	return nil
}

// fill fills b with repetitions of payload, or with random bytes if payload is empty.
func fill(b, payload []byte) {
	if len(payload) == 0 {
		r := rand.NewChaCha8([32]byte{})
		r.Read(b)
		return
	}
	for n := 0; n < len(b); {
		n += copy(b[n:], payload)
	}
}

// rkey returns the R_Key of the buffer for the peer, or 0 for a SEND test, which needs no remote
// access.
func (e *end) rkey() uint32 {
	if e.params.test.Send() {
		return 0
	}
	return e.mr.RKey()
}

// outReads returns the maximum number of outstanding READs or atomics.
func (e *end) outReads() int {
	if !e.params.test.Fetches() {
		return 1
	}
	most := e.Device.Attr().MaxQPRdAtom
	if e.params.outs > 0 {
		return min(e.params.outs, most)
	}
	return most
}

// connect moves every queue pair to RTS.
func (e *end) connect() error {
	p := e.params
	if p.service == verbs.UD {
		return e.startDatagrams()
	}
	attr := verbs.DefaultConnAttr()
	attr.PathMTU, attr.Timeout, attr.TrafficClass, attr.Access = e.PathMTU, p.timeout, p.trafficClass, p.access()
	attr.MaxDestRdAtomic = uint8(e.outReads())
	for i, q := range e.qps {
		// This device cannot have more requests outstanding.
		attr.MaxRdAtomic = uint8(min(int(q.remote.OutReads), e.Device.Attr().MaxQPInitRdAtom))
		err := q.Connect(
			verbs.ConnInfo{QPN: q.QPN(), PSN: q.psn, GID: e.GID.GID},
			verbs.ConnInfo{QPN: verbs.QPN(q.remote.QPN), PSN: verbs.PSN(q.remote.PSN), GID: q.remote.GID}, attr)
		if err != nil {
			return err
		}
		e.out.address("local", e.Key(i))
	}
	return nil
}

// startDatagrams moves every queue pair to RTS and makes the address handle of its peer.
func (e *end) startDatagrams() error {
	for i, q := range e.qps {
		var err error
		if q.ah, err = e.StartDatagrams(e.pd, q.QP, q.psn, q.remote.GID, e.params.trafficClass); err != nil {
			return err
		}
		e.out.address("local", e.Key(i))
	}
	return nil
}

// postReceives fills the receive queues for messages of size bytes.
func (e *end) postReceives(size uint64) error {
	for i, q := range e.qps {
		q.recv = newWalker(e.receiveOffset(i), e.params.received(size), e.cycle, e.cacheLine)
		q.recvPosted = 0
		if !e.receives() {
			continue
		}
		if err := e.refill(i, size, uint64(e.params.rxDepth)); err != nil {
			return err
		}
	}
	return nil
}

// receives reports whether this end receives messages.
func (e *end) receives() bool {
	p := e.params
	return p.twoSided() && (p.test.Latency() || p.duplex || !p.sends(e.Role))
}

// refill posts n receives on queue pair i, in calls of at most postBatch.
func (e *end) refill(i int, size, n uint64) error {
	q := e.qps[i]
	length := uint32(e.params.received(size))
	var (
		wrs  [postBatch]verbs.RecvWR
		sges [postBatch]verbs.SGE
		ptrs [postBatch]*verbs.RecvWR
	)
	for n > 0 {
		k := int(min(n, postBatch))
		for j := range k {
			sges[j] = verbs.SGE{Addr: e.mr.Addr() + q.recv.next(), Length: length, LKey: e.mr.LKey()}
			wrs[j] = verbs.RecvWR{ID: recvID | uint64(i), SGList: sges[j : j+1]}
			ptrs[j] = &wrs[j]
		}
		if err := q.PostRecv(ptrs[:k]...); err != nil {
			return err
		}
		n -= uint64(k)
		q.recvPosted += uint64(k)
	}
	return nil
}

// postBatch is the maximum number of work requests in one call.
const postBatch = 32

// walker yields the addresses, or offsets, of consecutive messages in one half of a buffer. With
// span 0 all messages are at base.
type walker struct {
	base, step, span uint64
	at               uint64
}

// newWalker starts at base. Messages of up to half a page cycle through the page, aligned to
// cache lines.
func newWalker(base, size, cycle, line uint64) walker {
	w := walker{base: base, step: roundUp(size, line)}
	if size <= cycle/2 {
		w.span = cycle / w.step * w.step
	}
	return w
}

// next returns the address of the next message.
func (w *walker) next() uint64 {
	a := w.base + w.at
	if w.span > 0 {
		w.at += w.step
		if w.at >= w.span {
			w.at = 0
		}
	}
	return a
}
