package self

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/verbs"
)

// pinger is a connection of rping -s -P.
type pinger struct {
	s        *service
	cq       *verbs.CQ
	qp       *verbs.QP
	recv     *verbs.MR // of the messages of the client
	recvBuf  []byte
	ping     *verbs.MR
	pingBuf  []byte
	send     *verbs.MR
	received int // messages that were not handled
}

// Lengths of rping in bytes.
const (
	pingMessage = 16
	maxPing     = 4096
)

// ping serves a connection as rping does.
func (s *service) ping(ctx context.Context, r *verbs.ConnRequest) {
	p := &pinger{s: s, recvBuf: make([]byte, pingMessage), pingBuf: make([]byte, maxPing)}
	if err := p.serve(ctx, r); ctx.Err() == nil {
		s.printf("%v\n", err)
	}
	if p.qp != nil {
		p.qp.Close()
	}
}

// serve serves a connection until an error ends it, which it returns.
func (p *pinger) serve(ctx context.Context, r *verbs.ConnRequest) (err error) {
	if p.cq, err = p.s.ctx.CreateCQ(64); err != nil {
		return err
	}
	if p.qp, err = p.s.pd.CreateQP(verbs.QPInitAttr{SendCQ: p.cq}); err != nil {
		return err
	}
	for _, m := range []struct {
		mr  **verbs.MR
		buf []byte
	}{{&p.recv, p.recvBuf}, {&p.ping, p.pingBuf}, {&p.send, make([]byte, pingMessage)}} {
		if *m.mr, err = p.s.pd.RegMR(m.buf, verbs.LocalWrite); err != nil {
			return err
		}
	}
	if err = p.qp.Init(0); err != nil {
		return err
	}
	if err = p.postReceive(); err != nil {
		return err
	}
	param := verbs.DefaultConnParam()
	param.MaxRdAtomic, param.MaxDestRdAtomic = 1, 1
	if _, err = r.Accept(ctx, p.qp, param); err != nil {
		return err
	}
	for err == nil {
		err = p.exchange(ctx)
	}
	return err
}

func (p *pinger) postReceive() error {
	return p.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{p.recv.SGE(0, pingMessage)}})
}

// exchange READs the text of a ping and WRITEs it back.
func (p *pinger) exchange(ctx context.Context) error {
	addr, key, size, err := p.message(ctx)
	if err != nil {
		return err
	}
	if size > maxPing {
		return fmt.Errorf("a ping of %d bytes: the maximum is %d", size, maxPing)
	}
	err = p.do(ctx, &verbs.SendWR{Opcode: verbs.WRRead, SGList: []verbs.SGE{p.ping.SGE(0, size)}, RemoteAddr: addr,
		RKey: key})
	if err != nil {
		return err
	}
	n := min(bytes.IndexByte(append(p.pingBuf[:size:size], 0), 0)+1, size)
	if err := p.goOn(ctx); err != nil {
		return err
	}
	if addr, key, _, err = p.message(ctx); err != nil {
		return err
	}
	err = p.do(ctx, &verbs.SendWR{Opcode: verbs.WRWrite, SGList: []verbs.SGE{p.ping.SGE(0, n)}, RemoteAddr: addr,
		RKey: key})
	if err != nil {
		return err
	}
	return p.goOn(ctx)
}

// goOn sends a message, whose content has no meaning.
func (p *pinger) goOn(ctx context.Context) error {
	return p.do(ctx, &verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{p.send.SGE(0, pingMessage)}})
}

// message waits for a message of the client.
func (p *pinger) message(ctx context.Context) (addr uint64, key uint32, size int, err error) {
	for p.received == 0 {
		if _, err := p.wait(ctx); err != nil {
			return 0, 0, 0, err
		}
	}
	p.received--
	b := p.recvBuf
	addr, key, size = binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), int(binary.BigEndian.Uint32(b[12:]))
	return addr, key, size, p.postReceive()
}

// do posts a request and waits for its completion.
func (p *pinger) do(ctx context.Context, wr *verbs.SendWR) error {
	wr.Flags |= verbs.Signaled
	if err := p.qp.PostSend(wr); err != nil {
		return err
	}
	for {
		if sent, err := p.wait(ctx); sent || err != nil {
			return err
		}
	}
}

// wait waits for one completion and reports whether it is that of a request.
func (p *pinger) wait(ctx context.Context) (sent bool, err error) {
	var wc [1]verbs.WC
	if _, err := p.cq.Wait(ctx, wc[:]); err != nil {
		return false, err
	}
	if wc[0].Status != verbs.WCSuccess {
		return false, fmt.Errorf("cq completion failed status %d: %v", wc[0].Status, wc[0].Status)
	}
	if wc[0].Opcode < verbs.WCRecv {
		return true, nil
	}
	p.received++
	return false, nil
}
