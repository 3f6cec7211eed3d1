package rping

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// errOver is the error of a wait that ended because the connection has ended.
var errOver = errors.New("the connection is over")

// endpoint is one end's queue pair with its buffers.
type endpoint struct {
	cq   *verbs.CQ
	qp   *verbs.QP
	mrs  []*verbs.MR
	conn *verbs.Conn

	recv, send     []byte
	recvMR, sendMR *verbs.MR
	wc             [4]verbs.WC
	have           int // completions in wc that are not processed
	received       int // received messages that are not processed
}

// Depths of rping's queues.
const (
	sendDepth = 16
	recvDepth = 2
)

// newEndpoint creates a queue pair in INIT with a receive posted, because a message may arrive
// before this end knows that the connection is established.
func newEndpoint(pd *verbs.PD) (*endpoint, error) {
	e := &endpoint{recv: make([]byte, messageLen), send: make([]byte, messageLen)}
	if err := e.open(pd); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *endpoint) open(pd *verbs.PD) (err error) {
	if e.cq, err = pd.Device().CreateCQ(sendDepth + recvDepth); err != nil {
		return err
	}
	e.qp, err = pd.CreateQP(verbs.QPInitAttr{SendCQ: e.cq, Cap: verbs.QPCap{
		MaxSendWR: sendDepth, MaxRecvWR: recvDepth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	if err != nil {
		return err
	}
	if e.recvMR, err = e.register(pd, e.recv, verbs.LocalWrite); err != nil {
		return err
	}
	if e.sendMR, err = e.register(pd, e.send, 0); err != nil {
		return err
	}
	if err = e.qp.Init(param().Access); err != nil {
		return err
	}
	return e.postRecv()
}

func (e *endpoint) register(pd *verbs.PD, b []byte, access verbs.Access) (*verbs.MR, error) {
	m, err := pd.RegMR(b, access, verbs.WithRandomIOVA())
	if err == nil {
		e.mrs = append(e.mrs, m)
	}
	return m, err
}

// param returns the connection parameters of rping: one READ at a time.
func param() verbs.ConnParam {
	p := verbs.DefaultConnParam()
	p.MaxRdAtomic, p.MaxDestRdAtomic = 1, 1
	return p
}

// close releases everything. The calls fail only for objects in use, and these are not in use.
func (e *endpoint) close() {
	if e.qp != nil {
		_ = e.qp.Close()
	}
	for _, m := range e.mrs {
		_ = m.Dereg()
	}
	if e.cq != nil {
		_ = e.cq.Close()
	}
}

func (e *endpoint) postRecv() error {
	return e.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{e.recvMR.SGE(0, messageLen)}})
}

// sendMessage sends a message with the buffer b and waits for its completion.
func (e *endpoint) sendMessage(ctx context.Context, b *buffer) error {
	b.encode(e.send)
	return e.do(ctx, &verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{e.sendMR.SGE(0, messageLen)}})
}

// do posts a request and waits for its completion.
func (e *endpoint) do(ctx context.Context, wr *verbs.SendWR) error {
	wr.Flags |= verbs.Signaled
	if err := e.qp.PostSend(wr); err != nil {
		return e.connErr(err)
	}
	for {
		wc, err := e.next(ctx)
		if err != nil {
			return err
		}
		if wc.Opcode < verbs.WCRecv {
			return nil
		}
		e.received++
	}
}

// message waits for a SEND of the peer and stores the buffer that it names in b.
func (e *endpoint) message(ctx context.Context, b *buffer) error {
	for e.received == 0 {
		if _, err := e.next(ctx); err != nil {
			return err
		}
		e.received++
	}
	e.received--
	b.decode(e.recv)
	return e.postRecv()
}

// next returns the next completion, which must be successful; a receive must have the length of a
// message.
func (e *endpoint) next(ctx context.Context) (*verbs.WC, error) {
	if e.have == 0 {
		n, err := e.cq.Wait(ctx, e.wc[:1])
		if err != nil {
			return nil, err
		}
		e.have = n
	}
	e.have--
	wc := &e.wc[0]
	switch {
	case wc.Status == verbs.WCWRFlushErr:
		return nil, e.connErr(errOver)
	case wc.Status != verbs.WCSuccess:
		return nil, e.connErr(fmt.Errorf("work request ended with %s: %v", wc.Status.Name(), wc.Status))
	case wc.Opcode >= verbs.WCRecv && wc.ByteLen != messageLen:
		return nil, fmt.Errorf("a message of %d bytes came: those of rping have %d", wc.ByteLen, messageLen)
	}
	return wc, nil
}

// connErr returns why the connection has ended, or err if it has not.
func (e *endpoint) connErr(err error) error {
	select {
	case <-e.conn.Done():
	default:
		if !errors.Is(e.conn.Err(), verbs.ErrUnreachable) {
			return err
		}
	}
	switch why := e.conn.Err(); {
	case errors.Is(why, verbs.ErrUnreachable):
		return ErrGone
	case why == nil || errors.Is(why, verbs.ErrDisconnected):
		return errOver
	case errors.Is(err, errOver):
		return why
	}
	return err
}

// ErrGone means that the peer ended without notice, or is unreachable.
var ErrGone = fmt.Errorf("the peer has ended or is unreachable: it no longer responds (%w)", verbs.ErrUnreachable)

// lookAfter ends the connection when the peer does not answer, until stop is called. every is the
// period of [verbs.Conn.KeepAlive]; 0 disables it.
func (e *endpoint) lookAfter(ctx context.Context, every time.Duration) (stop func()) {
	if every <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	// The result shows in the completions of the queue pair.
	looking.Go(func() { _ = e.conn.KeepAlive(ctx, every) })
	return func() {
		cancel()
		looking.Wait()
	}
}
