package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// Cap holds the capacities of a queue pair. It is ibv_qp_cap.
type Cap struct {
	MaxSendWR  int
	MaxRecvWR  int
	MaxSendSGE int
	MaxRecvSGE int
	MaxInline  int // bytes
}

// QP is a queue pair. Its creator sets the fields. After that, only [QP.Modify] changes Attr,
// except that the transport may change Attr.State.
type QP struct {
	Num    bth.QPN
	Type   Type
	SigAll bool // every send request generates a completion
	PD     *mr.PD
	Attr   Attr
	Cap    Cap
	SQ     *SendQueue
	Recv   RecvSource // never nil: a queue pair without receives has an empty one
	SendCQ CompletionSink
	RecvCQ CompletionSink
	Events EventSink // may be nil
}

// Raise raises an asynchronous event.
func (q *QP) Raise(e EventType) {
	if q.Events != nil {
		q.Events.Event(e)
	}
}

// State returns the current state of the queue pair.
func (q *QP) State() State { return q.Attr.State }

// CheckPost returns an error if the send request cannot be posted now. The state must be RTS or
// SQD, or SQE or ERR, in which the request will be flushed, and the type must support the
// opcode. [SendQueue.Push] checks the sizes.
func (q *QP) CheckPost(wr *SendWR) error {
	if !q.canPostSend() {
		return fmt.Errorf("qp: %w: cannot post a send in state %v; move the queue pair to RTS first",
			ErrBadState, q.Attr.State)
	}
	if !wr.Opcode.Valid() {
		return fmt.Errorf("qp: %w: unknown send opcode %d", ErrBadWR, uint8(wr.Opcode))
	}
	if !wr.Opcode.Allowed(q.Type) {
		return fmt.Errorf("qp: %w: %v cannot be posted to a queue pair of type %v", ErrBadWR, wr.Opcode, q.Type)
	}
	op := &wrOpcodes[wr.Opcode]
	if wr.Flags&Inline != 0 && op.flags&wrInline == 0 {
		return fmt.Errorf("qp: %w: %v has no data to send inline", ErrBadWR, wr.Opcode)
	}
	if op.flags&wrExact != 0 && wr.length() != uint64(op.length) {
		return fmt.Errorf("qp: %w: %v requires exactly %d bytes, got %d", ErrBadWR, wr.Opcode, op.length, wr.length())
	}
	if err := wr.checkMemory(); err != nil {
		return err
	}
	if !q.Type.Connected() {
		return q.checkDestination(wr)
	}
	return nil
}

// canPostSend reports whether send requests can be posted in the current state. In SQE and ERR
// they are flushed.
func (q *QP) canPostSend() bool {
	switch q.Attr.State {
	case RTS, SQD, SQE, ERR:
		return true
	}
	return false
}

// checkDestination checks the destination of a datagram.
func (q *QP) checkDestination(wr *SendWR) error {
	switch {
	case wr.AH == nil:
		return fmt.Errorf(
			"qp: %w: a send on a queue pair of type %v requires AH, the address handle of its destination",
			ErrBadWR, q.Type)
	case wr.AH.PD() != q.PD:
		return fmt.Errorf("qp: %w: its AH belongs to another protection domain", ErrBadWR)
	case wr.RemoteQPN > maxQPN:
		return fmt.Errorf("qp: %w: RemoteQPN %#x does not fit 24 bits", ErrBadWR, uint32(wr.RemoteQPN))
	case wr.AH.Multicast() && wr.RemoteQPN != bth.MulticastQPN:
		return fmt.Errorf("qp: %w: RemoteQPN %#x cannot be sent to a multicast group, which takes %#x",
			ErrBadWR, uint32(wr.RemoteQPN), uint32(bth.MulticastQPN))
	}
	return nil
}

// CheckPostRecv returns an error if a receive request cannot be posted now: in RESET, or if the
// queue pair uses an SRQ. In ERR the request will be flushed.
func (q *QP) CheckPostRecv() error {
	if q.Recv.Shared() {
		return fmt.Errorf("qp: %w: the queue pair takes its receives from a shared receive queue; post them there",
			ErrBadWR)
	}
	if q.Attr.State == RESET {
		return fmt.Errorf("qp: %w: cannot post a receive in state RESET; move the queue pair to INIT first",
			ErrBadState)
	}
	return nil
}

// length returns the length of the message in bytes.
func (wr *SendWR) length() (n uint64) {
	if wr.Flags&Inline != 0 {
		return uint64(len(wr.InlineData))
	}
	for i := range wr.SGList {
		n += uint64(wr.SGList[i].Length)
	}
	return n
}
