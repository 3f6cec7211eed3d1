package rping

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe"
)

// errOver is how a wait ends when the connection has.
var errOver = errors.New("the connection is over")

// endpoint is one end's queue pair with its buffers.
type endpoint struct {
	cq   *gorxe.CQ
	qp   *gorxe.QP
	mrs  []*gorxe.MR
	conn *gorxe.Conn

	recv, send     []byte
	recvMR, sendMR *gorxe.MR
	wc             [4]gorxe.WC
	have           int // completions of wc that were not looked at
	received       int // messages that nobody has waited for yet
}

// Sizes of rping's queue pairs.
const (
	sendDepth = 16
	recvDepth = 2
)

// newEndpoint makes a queue pair in INIT with a receive posted, which may come before the end
// knows that the connection stands.
func newEndpoint(pd *gorxe.PD) (*endpoint, error) {
	e := &endpoint{recv: make([]byte, messageLen), send: make([]byte, messageLen)}
	if err := e.open(pd); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *endpoint) open(pd *gorxe.PD) (err error) {
	if e.cq, err = pd.Device().CreateCQ(sendDepth + recvDepth); err != nil {
		return err
	}
	e.qp, err = pd.CreateQP(gorxe.QPInitAttr{SendCQ: e.cq, Cap: gorxe.QPCap{
		MaxSendWR: sendDepth, MaxRecvWR: recvDepth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	if err != nil {
		return err
	}
	if e.recvMR, err = e.register(pd, e.recv, gorxe.LocalWrite); err != nil {
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

func (e *endpoint) register(pd *gorxe.PD, b []byte, access gorxe.Access) (*gorxe.MR, error) {
	m, err := pd.RegMR(b, access, gorxe.WithRandomIOVA())
	if err == nil {
		e.mrs = append(e.mrs, m)
	}
	return m, err
}

// param is what rping asks for: one READ at a time.
func param() gorxe.ConnParam {
	p := gorxe.DefaultConnParam()
	p.MaxRdAtomic, p.MaxDestRdAtomic = 1, 1
	return p
}

// close gives everything back. The errors are of what is in use, which nothing is.
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
	return e.qp.PostRecv(&gorxe.RecvWR{SGList: []gorxe.SGE{e.recvMR.SGE(0, messageLen)}})
}

// sendMessage sends what b names and waits until it has arrived.
func (e *endpoint) sendMessage(ctx context.Context, b *buffer) error {
	b.encode(e.send)
	return e.do(ctx, &gorxe.SendWR{Opcode: gorxe.WRSend, SGList: []gorxe.SGE{e.sendMR.SGE(0, messageLen)}})
}

// do posts a request and waits for its end.
func (e *endpoint) do(ctx context.Context, wr *gorxe.SendWR) error {
	wr.Flags |= gorxe.Signaled
	if err := e.qp.PostSend(wr); err != nil {
		return e.whole(err)
	}
	for {
		wc, err := e.next(ctx)
		if err != nil {
			return err
		}
		if wc.Opcode < gorxe.WCRecv {
			return nil
		}
		e.received++
	}
}

// message waits for a SEND of the peer and says what it names.
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

// next takes a completion, which must be a success; a receive must have the length of a message.
func (e *endpoint) next(ctx context.Context) (*gorxe.WC, error) {
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
	case wc.Status == gorxe.WCWRFlushErr:
		return nil, e.whole(errOver)
	case wc.Status != gorxe.WCSuccess:
		return nil, e.whole(fmt.Errorf("work request ended with %s: %v", wc.Status.Name(), wc.Status))
	case wc.Opcode >= gorxe.WCRecv && wc.ByteLen != messageLen:
		return nil, fmt.Errorf("a message of %d bytes came: those of rping have %d", wc.ByteLen, messageLen)
	}
	return wc, nil
}

// whole says why the connection has ended, if it has, else err.
func (e *endpoint) whole(err error) error {
	select {
	case <-e.conn.Done():
	default:
		if !errors.Is(e.conn.Err(), gorxe.ErrUnreachable) {
			return err
		}
	}
	switch why := e.conn.Err(); {
	case errors.Is(why, gorxe.ErrUnreachable):
		return ErrGone
	case why == nil || errors.Is(why, gorxe.ErrDisconnected):
		return errOver
	case errors.Is(err, errOver):
		return why
	}
	return err
}

// ErrGone says that the peer has ended without a word, or is out of reach.
var ErrGone = fmt.Errorf("the peer has ended or is out of reach: it does not answer any more (%w)", gorxe.ErrUnreachable)

// lookAfter ends the connection when the peer does not answer, until stop is called. every is that of
// [gorxe.Conn.KeepAlive], 0 never looks.
func (e *endpoint) lookAfter(ctx context.Context, every time.Duration) (stop func()) {
	if every <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	// How it ends shows in what the queue pair completes.
	looking.Go(func() { _ = e.conn.KeepAlive(ctx, every) })
	return func() {
		cancel()
		looking.Wait()
	}
}
