package respond

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorxe/gorxe"
)

// queue is a queue pair of a session.
type queue struct {
	*gorxe.QP
	index  int
	psn    gorxe.PSN
	gid    gorxe.GIDEntry
	remote gorxe.ConnInfo
	room   gorxe.SGE // where messages arrive
	turn   turn
	sent   int // messages that have not completed
}

// Sizes of a queue pair: as many receives as ibv_*_pingpong posts would be more than is needed,
// one that finds none is sent again. Sends are answers, of which a client that waits for each
// has no more than two.
const (
	recvDepth = 128
	sendDepth = 4
)

// peerOf is a client's end of a queue pair.
type peerOf struct {
	info gorxe.ConnInfo
	mtu  gorxe.MTU
	// reads is how many READs and atomics the peer may have outstanding.
	reads uint8
	room  gorxe.SGE
	turn  turn
}

// connect makes a queue pair, connects it to p and posts its receives.
func (s *session) connect(p *peerOf) (*queue, error) {
	if len(s.qps) >= s.r.limits.QPs {
		return nil, &ended{refused, fmt.Errorf("the client wants more than %d queue pairs: choose fewer with -q", len(s.qps))}
	}
	q := &queue{index: len(s.qps), remote: p.info, room: p.room, turn: p.turn, psn: gorxe.RandomPSN()}
	var err error
	if q.gid, err = s.gidFor(p.info.GID); err != nil {
		return nil, err
	}
	if err = s.cq.Resize((recvDepth + sendDepth) * (len(s.qps) + 1)); err != nil {
		return nil, &ended{refused, err}
	}
	q.QP, err = s.pd.CreateQP(gorxe.QPInitAttr{SendCQ: s.cq, Cap: gorxe.QPCap{
		MaxSendWR: sendDepth, MaxRecvWR: recvDepth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	if err != nil {
		return nil, &ended{refused, err}
	}
	s.mu.Lock()
	s.qps = append(s.qps, q)
	s.since = time.Now()
	s.mu.Unlock()
	attr := gorxe.DefaultConnAttr()
	attr.PathMTU, attr.MaxRdAtomic, attr.MaxDestRdAtomic = p.mtu, 1, p.reads
	attr.Access = s.access() &^ gorxe.LocalWrite
	if err := q.Connect(gorxe.ConnInfo{QPN: q.QPN(), PSN: q.psn, GID: q.gid.GID}, p.info, attr); err != nil {
		return nil, &ended{refused, err}
	}
	for range recvDepth {
		if err := s.receive(q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// A work request ID is the index of its queue pair, and of sends this bit.
const sendID = 1 << 63

// receive posts a receive.
func (s *session) receive(q *queue) error {
	if err := q.PostRecv(&gorxe.RecvWR{ID: uint64(q.index), SGList: []gorxe.SGE{q.room}}); err != nil {
		return &ended{failed, err}
	}
	return nil
}

// answer sends the latest message back.
func (s *session) answer(q *queue, length uint32) error {
	room := q.room
	room.Length = length
	q.sent++
	err := q.PostSend(&gorxe.SendWR{ID: sendID | uint64(q.index), Opcode: gorxe.WRSend, Flags: gorxe.Signaled, SGList: []gorxe.SGE{room}})
	if err != nil {
		return &ended{failed, err}
	}
	return nil
}

// traffic takes completions until the session ends.
func (s *session) traffic() error {
	var wc [64]gorxe.WC
	for {
		n, err := s.wait(wc[:])
		if err != nil {
			return err
		}
		for i := range wc[:n] {
			if err := s.take(&wc[i]); err != nil {
				return err
			}
		}
	}
}

// wait waits for completions, and for the moments at which it is somebody's turn.
func (s *session) wait(wc []gorxe.WC) (int, error) {
	for {
		ctx, cancel := s.ctx, context.CancelFunc(func() {})
		due := s.due()
		if !due.IsZero() {
			ctx, cancel = context.WithDeadline(s.ctx, due)
		}
		n, err := s.cq.Wait(ctx, wc)
		cancel()
		if err == nil || due.IsZero() || s.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return n, err
		}
		if err := s.takeTurns(time.Now()); err != nil {
			return 0, err
		}
	}
}

func (s *session) queueAt(i uint64) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.qps[i]
}

// take deals with one completion.
func (s *session) take(wc *gorxe.WC) error {
	q := s.queueAt(wc.WRID &^ sendID)
	switch {
	case wc.Status != gorxe.WCSuccess:
		return &ended{failed, s.explain(q, wc)}
	case wc.WRID&sendID != 0:
		q.sent--
		return nil
	}
	if err := s.arrived(q, wc.ByteLen); err != nil {
		return err
	}
	return s.receive(q)
}

// explain says what a completion with an error means.
func (s *session) explain(q *queue, wc *gorxe.WC) error {
	c := q.Counters()
	what := fmt.Errorf("queue pair %#06x, with %v: %s: %v", uint32(q.QPN()), q.remote.GID, wc.Status.Name(), wc.Status)
	switch {
	case wc.Status == gorxe.WCLocLenErr:
		return fmt.Errorf("%w: a message of more than %d bytes came, give sessions more memory or the client a smaller -s", what, q.room.Length)
	case wc.Status == gorxe.WCRetryExcErr:
		return fmt.Errorf("%w: the client is gone", what)
	case c.ErrorNAKsSent > 0 && s.kind == Perftest:
		return fmt.Errorf("%w: the client was refused, as is one that reaches beyond the %d bytes that a session has: give sessions more memory or the client a smaller -s", what, s.mr.Len())
	case c.ErrorNAKsSent > 0:
		return fmt.Errorf("%w: the client was refused, as is one whose path MTU (-m) is not %d or whose message is longer than %d bytes", what, pingpongMTU, q.room.Length)
	}
	return what
}
