package respond

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// queue is a queue pair of a session.
type queue struct {
	*verbs.QP
	index  int
	psn    verbs.PSN
	gid    verbs.GIDEntry
	remote verbs.ConnInfo
	buffer verbs.SGE // buffer in which messages arrive, and from which they are sent back
	reply  replyState
	sent   int // sends that have not completed
}

// Depths of a queue pair. They are smaller than those of ibv_*_pingpong: a message that finds no
// receive is retransmitted.
const (
	recvDepth = 128
	sendDepth = maxUnackedReplies + 1
)

// clientEnd describes the queue pair of a client, and how the queue pair of this end serves it.
type clientEnd struct {
	info verbs.ConnInfo
	mtu  verbs.MTU
	// reads is the number of READs and atomics that the peer may have outstanding.
	reads  uint8
	buffer verbs.SGE
	reply  replyState
}

// connect creates a queue pair, connects it to that of p and posts its receives.
func (s *session) connect(p *clientEnd) (*queue, error) {
	if len(s.qps) >= s.r.limits.QPs {
		return nil, &earlyEnd{refusedQP, fmt.Errorf("limit of %d queue pairs: use a smaller -q", len(s.qps))}
	}
	q := &queue{index: len(s.qps), remote: p.info, buffer: p.buffer, reply: p.reply, psn: verbs.RandomPSN()}
	var err error
	if q.gid, err = s.gidFor(p.info.GID); err != nil {
		return nil, err
	}
	depth := recvDepth
	if s.check != nil {
		depth = checkDepth
	}
	if err = s.cq.Resize((depth + sendDepth) * (len(s.qps) + 1)); err != nil {
		return nil, &earlyEnd{refusedQP, err}
	}
	q.QP, err = s.pd.CreateQP(verbs.QPInitAttr{SendCQ: s.cq, Cap: verbs.QPCap{
		MaxSendWR: sendDepth, MaxRecvWR: depth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	if err != nil {
		return nil, &earlyEnd{refusedQP, err}
	}
	s.mu.Lock()
	s.qps = append(s.qps, q)
	s.lastConnect = time.Now()
	s.mu.Unlock()
	attr := verbs.DefaultConnAttr()
	attr.PathMTU, attr.MaxRdAtomic, attr.MaxDestRdAtomic = p.mtu, 1, p.reads
	attr.Access = s.access() &^ verbs.LocalWrite
	if err := q.Connect(verbs.ConnInfo{QPN: q.QPN(), PSN: q.psn, GID: q.gid.GID}, p.info, attr); err != nil {
		return nil, &earlyEnd{refusedQP, err}
	}
	for slot := range depth {
		if err := s.receive(q, slot); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// A work request ID contains the index of its queue pair, for receives the number of the slot,
// and for sends the bit sendID.
const (
	slotID = 1 << 32
	sendID = 1 << 63
)

func queueOf(id uint64) int { return int(id % slotID) }
func slotOf(id uint64) int  { return int(id &^ sendID / slotID) }

// receive posts a receive. If payload is not checked, all receives share one buffer.
func (s *session) receive(q *queue, slot int) error {
	room := q.buffer
	if s.check != nil {
		room = s.mr.SGE(s.check.offset(q.index, slot), s.check.recvLen)
	}
	if err := q.PostRecv(&verbs.RecvWR{ID: uint64(slot)*slotID | uint64(q.index),
		SGList: []verbs.SGE{room}}); err != nil {
		return &earlyEnd{failed, err}
	}
	return nil
}

// sendReply sends the last message back.
func (s *session) sendReply(q *queue, length uint32) error {
	room := q.buffer
	room.Length = length
	q.sent++
	err := q.PostSend(&verbs.SendWR{ID: sendID | uint64(q.index), Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{room}})
	if err != nil {
		return &earlyEnd{failed, err}
	}
	return nil
}

// traffic handles completions until the session ends.
func (s *session) traffic() error {
	var wc [64]verbs.WC
	for {
		n, err := s.wait(wc[:])
		if err != nil {
			return err
		}
		for i := range wc[:n] {
			if err := s.handleCompletion(&wc[i]); err != nil {
				return err
			}
		}
	}
}

// wait waits for completions, stores them in wc and returns their number. Meanwhile it sends the
// replies that are due.
func (s *session) wait(wc []verbs.WC) (int, error) {
	for {
		ctx, cancel := s.ctx, context.CancelFunc(func() {})
		due := s.nextReplyTime()
		if !due.IsZero() {
			ctx, cancel = context.WithDeadline(s.ctx, due)
		}
		n, err := s.cq.Wait(ctx, wc)
		cancel()
		if err == nil || due.IsZero() || s.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return n, err
		}
		if err := s.sendDueReplies(time.Now()); err != nil {
			return 0, err
		}
	}
}

func (s *session) queueAt(i int) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.qps[i]
}

// handleCompletion handles one completion.
func (s *session) handleCompletion(wc *verbs.WC) error {
	q := s.queueAt(queueOf(wc.WRID))
	switch {
	case wc.Status != verbs.WCSuccess:
		return s.failed(q, wc)
	case wc.WRID&sendID != 0:
		q.sent--
		return nil
	}
	slot := slotOf(wc.WRID)
	if s.check != nil && wc.Opcode == verbs.WCRecv { // a WRITE with immediate data is not in the slot
		if err := s.check.checkMessage(q.index, slot, wc.ByteLen); err != nil {
			return err
		}
	}
	if err := s.handleMessage(q, wc.ByteLen); err != nil {
		return err
	}
	return s.receive(q, slot)
}

// failed returns the error of the session's first failed completion, which is wc if there was none
// before.
func (s *session) failed(q *queue, wc *verbs.WC) error {
	if s.wcErr == nil {
		s.wcErr = &earlyEnd{failed, s.explain(q, wc)}
	}
	return s.wcErr
}

// explain describes a failed completion.
func (s *session) explain(q *queue, wc *verbs.WC) error {
	c := q.Counters()
	what := fmt.Errorf("queue pair %#06x, with %v: %s: %v", uint32(q.QPN()), q.remote.GID, wc.Status.Name(), wc.Status)
	switch {
	case wc.Status == verbs.WCLocLenErr:
		return fmt.Errorf(
			"%w: a message of more than %d bytes came, give sessions more memory or the client a smaller -s", what,
			q.buffer.Length)
	case wc.Status == verbs.WCRetryExcErr:
		return fmt.Errorf("%w: the client is gone", what)
	case c.ErrorNAKsSent > 0 && s.check != nil:
		return fmt.Errorf("%w: the client's request was refused, for example because it exceeds the %d bytes of a session or changes them by atomics, which leave no payload: use a smaller -s, raise --session-memory, or give the daemon no payload", what, s.mr.Len())
	case c.ErrorNAKsSent > 0 && s.kind == Perftest:
		return fmt.Errorf("%w: the client's request was refused, for example because it exceeds the %d bytes of a session: use a smaller -s or raise --session-memory", what, s.mr.Len())
	case c.ErrorNAKsSent > 0:
		return fmt.Errorf("%w: the client was refused, as is one whose path MTU (-m) is not %d or whose message is longer than %d bytes", what, pingpongMTU, q.buffer.Length)
	}
	return what
}
