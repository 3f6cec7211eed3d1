package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// SendWQE is a send work request in the queue, with the state that the requester keeps for it.
type SendWQE struct {
	ID         uint64
	RemoteAddr uint64
	CompareAdd uint64
	Swap       uint64
	SG         []Segment
	Inline     []byte // message data, if Flags has Inline
	Length     uint64 // message length in bytes
	AH         AH
	RKey       uint32
	Imm        uint32
	RemoteQPN  bth.QPN
	RemoteQKey uint32
	Flush      Flush
	Local      *LocalWork // parameters of WRBindMW and WRRegMR; unused by other opcodes, kept for reuse of the slot
	Flags      SendFlags
	Opcode     WROpcode

	FailStatus WCStatus // if not WCSuccess, the request fails with it when its turn comes
	Started    bool     // the requester has started the request: FirstPSN and Packets are valid
	FirstPSN   bth.PSN  // PSN of the first packet
	Packets    uint32   // number of PSNs that the request uses
	Chunk      uint32   // number of PSNs of each message that the request is split into; Packets if it is not split
}

// SendQueue holds send work requests in order, from posting until completion. They are numbered
// by counters that wrap at 2^32: Head is the oldest request, Tail the next one to post.
type SendQueue struct {
	ring      ring[SendWQE]
	depth     int
	maxSGE    int
	maxInline int
	sigAll    bool
	full      *fullError
	source    SendSource // nil if this process posts the requests
	fetched   SendWR     // buffer for requests fetched from source
}

// NewSendQueue returns a queue for depth requests of up to maxSGE SGEs. Values out of range are
// set to the nearest limit. With sigAll every request generates a completion.
func NewSendQueue(depth, maxSGE int, sigAll bool) *SendQueue {
	return &SendQueue{depth: min(max(depth, 0), MaxDepth), maxSGE: max(maxSGE, 0), sigAll: sigAll}
}

// atomicBytes is the operand size of ATOMIC_WRITE. A request may carry the operand inline even if
// the inline limit is lower, as ibv_wr_atomic_write requires.
const atomicBytes = 8

// SetMaxInline sets the maximum inline data of a request in bytes; it is 0 in a new queue.
func (q *SendQueue) SetMaxInline(n int) { q.maxInline = max(n, 0) }

// Head returns the number of the oldest request.
func (q *SendQueue) Head() uint32 { return q.ring.head }

// Tail returns the number of the next request to be posted.
func (q *SendQueue) Tail() uint32 { return q.ring.tail }

// Len returns the number of requests in the queue.
func (q *SendQueue) Len() int { return q.ring.len() }

// Depth returns the capacity in requests.
func (q *SendQueue) Depth() int { return q.depth }

// SigAll reports whether every request generates a completion.
func (q *SendQueue) SigAll() bool { return q.sigAll }

// At returns request i, Head <= i < Tail. The pointer is valid until the next Push.
func (q *SendQueue) At(i uint32) *SendWQE { return q.ring.at(i) }

// Push appends a copy of the request. It fails if the queue is full, or if the request has too
// many SGEs, too long a message or too much inline data. [QP.CheckPost] checks opcode and
// state.
func (q *SendQueue) Push(wr *SendWR) error {
	n, err := q.check(wr)
	if err != nil {
		return err
	}
	if q.ring.full() {
		q.grow()
	}
	w := q.At(q.ring.tail)
	w.ID, w.Opcode, w.Flags, w.Length = wr.ID, wr.Opcode, wr.Flags, n
	w.RemoteAddr, w.RKey, w.Imm = wr.RemoteAddr, wr.RKey, wr.Imm
	w.CompareAdd, w.Swap = wr.CompareAdd, wr.Swap
	w.AH, w.RemoteQPN, w.RemoteQKey = wr.AH, wr.RemoteQPN, wr.RemoteQKey
	w.Flush = wr.Flush
	w.copyLocal(wr)
	w.FailStatus, w.Started, w.FirstPSN, w.Packets, w.Chunk = WCSuccess, false, 0, 0, 0
	w.SG = withLen(w.SG, len(wr.SGList), q.maxSGE)
	for i, s := range wr.SGList {
		w.SG[i] = Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey}
	}
	w.Inline = w.Inline[:0]
	if wr.Flags&Inline != 0 {
		w.Inline = withLen(w.Inline, len(wr.InlineData), max(q.maxInline, atomicBytes))
		copy(w.Inline, wr.InlineData)
	}
	q.ring.tail++
	return nil
}

// check returns the length of the message in bytes, or why the queue rejects the request.
func (q *SendQueue) check(wr *SendWR) (uint64, error) {
	if q.Len() >= q.depth {
		if q.full == nil {
			q.full = &fullError{"send", q.depth}
		}
		return 0, q.full
	}
	n, err := messageLength("send", wr.SGList, q.maxSGE)
	if err != nil {
		return 0, err
	}
	if wr.Flags&Inline == 0 {
		return n, nil
	}
	if len(wr.SGList) > 0 {
		return 0, fmt.Errorf("qp: %w: inline request with %d SGEs; put the bytes in InlineData",
			ErrBadWR, len(wr.SGList))
	}
	if wr.Opcode == WRAtomicWrite && len(wr.InlineData) <= atomicBytes {
		return uint64(len(wr.InlineData)), nil
	}
	if len(wr.InlineData) > q.maxInline {
		return 0, fmt.Errorf("qp: %w: %d bytes inline, the limit of this queue pair is %d",
			ErrTooLarge, len(wr.InlineData), q.maxInline)
	}
	return uint64(len(wr.InlineData)), nil
}

// Pop removes the oldest request. On an empty queue it does nothing.
func (q *SendQueue) Pop() {
	if q.Len() == 0 {
		return
	}
	// Drop the references of the request, so that the free slot does not keep them alive.
	w := q.At(q.ring.head)
	w.AH = nil
	if w.Local != nil {
		w.Local.Reg.Memory = nil
	}
	q.ring.head++
}

// Reset removes all requests, also from the source, and generates no completions, as the RESET
// state requires.
func (q *SendQueue) Reset() {
	for q.Len() > 0 {
		q.Retire()
		q.Pop()
	}
	if q.source != nil {
		q.source.Reset()
	}
}

func (q *SendQueue) grow() {
	q.ring.grow(q.depth)
	if q.maxSGE == 0 {
		return
	}
	// Nearly all requests have one SGE: allocate one array for the first SGE of all free slots.
	sg := make([]Segment, q.ring.free())
	for n := range sg {
		q.At(q.ring.tail + uint32(n)).SG = sg[n : n : n+1]
	}
}
