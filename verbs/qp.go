package verbs

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/qp"
)

// QPInitAttr holds the initial attributes of a queue pair, as ibv_qp_init_attr.
type QPInitAttr struct {
	Type   QPType // 0 means RC
	SendCQ *CQ
	RecvCQ *CQ   // nil means SendCQ
	SRQ    *SRQ  // source of receives; nil gives the queue pair a receive queue
	Cap    QPCap // zero means 128 work requests of 4 SGEs in each queue, no inline data
	SigAll bool  // generate a completion for every send work request, not only Signaled ones

	// Sends and Receives are queues that another process fills, in place of PostSend and PostRecv:
	// the queue pair fetches from them, see [QP.Doorbell]. If they are nil, requests are posted by
	// PostSend and PostRecv. A queue pair with Receives has no SRQ.
	Sends    SendSource
	Receives RecvSource
}

var defaultCap = QPCap{MaxSendWR: 128, MaxRecvWR: 128, MaxSendSGE: 4, MaxRecvSGE: 4}

// QP is a queue pair.
type QP struct {
	owned
	qp   *nic.QP
	conn atomic.Pointer[Conn] // connection that uses the queue pair, nil if none
}

// CreateQP creates a queue pair in RESET. Connect it with [QP.Connect], prepare it for datagrams
// with [QP.StartDatagrams], or move it step by step with [QP.Modify].
func (p *PD) CreateQP(init QPInitAttr) (*QP, error) {
	if init.Type == 0 {
		init.Type = RC
	}
	if init.RecvCQ == nil {
		init.RecvCQ = init.SendCQ
	}
	if init.Cap == (QPCap{}) {
		init.Cap = defaultCap
	}
	if err := p.checkInit(&init); err != nil {
		return nil, fmt.Errorf("queue pair: %w", err)
	}
	create := nic.QPInit{
		Type: init.Type, PD: p.pd, SendCQ: init.SendCQ.cq, RecvCQ: init.RecvCQ.cq,
		User: p.ctx.user, Cap: init.Cap, SigAll: init.SigAll, Sends: init.Sends, Receives: init.Receives,
	}
	if init.SRQ != nil {
		create.SRQ = init.SRQ.srq
		create.Cap.MaxRecvWR, create.Cap.MaxRecvSGE = 0, 0
	}
	out := &QP{}
	err := p.ctx.add(objectQP, &out.owned, out.Close, func() error {
		q, err := p.ctx.dev.nic.CreateQP(create)
		if err != nil {
			return err
		}
		out.qp, q.Owner = q, out
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("queue pair: %w", err)
	}
	return out, nil
}

func (p *PD) checkInit(init *QPInitAttr) error {
	if init.Type == qp.GSI {
		return fmt.Errorf("type %v is of the device's own queue pair: use %v", qp.GSI, UD)
	}
	if init.SendCQ == nil {
		return errors.New("SendCQ is nil: make one with Device.CreateCQ")
	}
	if init.SendCQ.ctx != p.ctx || init.RecvCQ.ctx != p.ctx {
		return errors.New(
			"its completion queues are on another device or in another context than its protection domain")
	}
	if init.SRQ != nil && init.SRQ.ctx != p.ctx {
		return errors.New(
			"its shared receive queue is on another device or in another context than its protection domain")
	}
	if init.Receives != nil {
		if init.SRQ != nil {
			return errors.New("it has both a source of receives and a shared receive queue: give one")
		}
		if init.Receives.PD() == nil {
			return errors.New("its source of receives has no protection domain: use PD.Domain")
		}
	}
	for _, c := range []struct {
		name       string
		value, max int
	}{
		{"MaxSendWR", init.Cap.MaxSendWR, MaxQPWR},
		{"MaxRecvWR", init.Cap.MaxRecvWR, MaxQPWR},
		{"MaxSendSGE", init.Cap.MaxSendSGE, maxSGE},
		{"MaxRecvSGE", init.Cap.MaxRecvSGE, maxSGE},
		{"MaxInline", init.Cap.MaxInline, MaxInline},
	} {
		if c.value < 0 || c.value > c.max {
			return fmt.Errorf("size %s is %d: it must be 0 to %d", c.name, c.value, c.max)
		}
	}
	return nil
}

// QPN returns the queue pair's number. It is not reused soon after Close.
func (q *QP) QPN() QPN { return q.qp.Num() }

// State returns the current state of the queue pair.
func (q *QP) State() QPState { return q.qp.State() }

// Query returns the current attributes and capacities of the queue pair.
func (q *QP) Query() (QPAttr, QPCap) { return q.qp.Query() }

// Counters returns the transport counters of the queue pair.
func (q *QP) Counters() QPCounters { return q.qp.Counters() }

// Modify sets the attributes of the queue pair that mask names to those of attr, as
// ibv_modify_qp. The address vector must name an entry of the GID table, and the path MTU must
// fit its link. After an error nothing has changed.
func (q *QP) Modify(attr *QPAttr, mask QPAttrMask) error {
	if attr == nil {
		return fmt.Errorf("queue pair %#06x: %w", uint32(q.QPN()), errNilAttr)
	}
	return q.qp.Modify(attr, mask)
}

// PostError is the error of a post. The work requests before Index were accepted, the one at
// Index failed with Err, and those after it were not examined.
type PostError struct {
	Index int
	Err   error
}

// Error describes the error. It names the index of the work request unless that is 0.
func (e *PostError) Error() string {
	if e.Index == 0 {
		return fmt.Sprintf("post: %v", e.Err)
	}
	return fmt.Sprintf("post of work request %d: %v", e.Index, e.Err)
}

// Unwrap returns why the work request failed.
func (e *PostError) Unwrap() error { return e.Err }

// PostSend posts send work requests, and transmits what the windows permit at once. One call for
// several requests costs less than one call each. The requests are copied; the memory they name
// is not. The error is a [*PostError].
func (q *QP) PostSend(wrs ...*SendWR) error {
	wrs, refused := postable(wrs)
	n, err := q.qp.PostSend(wrs)
	return posted(n, err, refused)
}

// PostRecv posts receive work requests; see PostSend. It fails on a queue pair with an SRQ, whose
// receives are posted by [SRQ.PostRecv].
func (q *QP) PostRecv(wrs ...*RecvWR) error {
	wrs, refused := postableRecvs(wrs)
	n, err := q.qp.PostRecv(wrs)
	return posted(n, err, refused)
}

// join makes the queue pair part of a connection.
func (q *QP) join(c *Conn) error {
	if !q.conn.CompareAndSwap(nil, c) {
		return fmt.Errorf("queue pair %#06x belongs to another connection", uint32(q.QPN()))
	}
	c.cm.gsi.OnFailure(q.qp, c.onFailure)
	return nil
}

// Close destroys the queue pair. Outstanding work gets no completion; to get completions, move
// the queue pair to ERR first. The peer of an open connection is notified. Closing it again has
// no effect.
func (q *QP) Close() error {
	if c := q.conn.Load(); c != nil {
		c.startDisconnect()
	}
	q.qp.Close()
	q.deregister()
	return nil
}

// Doorbell announces work requests in the sources of the queue pair ([QPInitAttr]). It fetches
// send requests and transmits them, as [QP.PostSend] does. Receives are fetched when messages
// arrive; in ERR the doorbell flushes them.
func (q *QP) Doorbell() error { return q.qp.Doorbell() }
