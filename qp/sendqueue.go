package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// SendWQE is a send work request in the queue, and what the requester notes on it.
type SendWQE struct {
	ID         uint64
	RemoteAddr uint64
	CompareAdd uint64
	Swap       uint64
	SG         []Segment
	Inline     []byte // the message, when Flags has Inline
	Length     uint64 // of the message
	AH         AH
	RKey       uint32
	Imm        uint32
	RemoteQPN  bth.QPN
	RemoteQKey uint32
	Flush      Flush
	Local      *LocalWork // kept for the slot's next use; holds for WRBindMW and WRRegMR only
	Flags      SendFlags
	Opcode     WROpcode

	Refused  WCStatus // other than WCSuccess: the request fails with it when its turn comes
	Started  bool     // FirstPSN and Packets hold
	FirstPSN bth.PSN  // of the request
	Packets  uint32   // PSNs the request takes
	Chunk    uint32   // PSNs of each READ request or WRITE message that the request is sent as; Packets where it is one
}

// SendQueue holds send work requests from their posting to their completion, in order.
// They are numbered by free-running counters: Head is the oldest, Tail is where the next
// one will stand.
type SendQueue struct {
	ring      ring[SendWQE]
	depth     int
	maxSGE    int
	maxInline int
	sigAll    bool
	full      *fullError
	source    SendSource // nil where the program of this process posts
	fetched   SendWR     // scratch for what comes from source
}

// NewSendQueue returns a queue for depth requests of up to maxSGE pieces; numbers out of
// range are taken to the nearest that is in. With sigAll every request ends in a completion.
func NewSendQueue(depth, maxSGE int, sigAll bool) *SendQueue {
	return &SendQueue{depth: min(max(depth, 0), MaxDepth), maxSGE: max(maxSGE, 0), sigAll: sigAll}
}

// atomicBytes is what an ATOMIC_WRITE writes. It may always come inline, as ibv_wr_atomic_write
// demands.
const atomicBytes = 8

// SetMaxInline sets how many bytes a request may carry inline; it is 0 in a new queue.
func (q *SendQueue) SetMaxInline(n int) { q.maxInline = max(n, 0) }

// Head is the number of the oldest request.
func (q *SendQueue) Head() uint32 { return q.ring.head }

// Tail is the number the next request will get.
func (q *SendQueue) Tail() uint32 { return q.ring.tail }

// Len is how many requests are in the queue.
func (q *SendQueue) Len() int { return q.ring.len() }

// Depth is how many requests the queue was made for.
func (q *SendQueue) Depth() int { return q.depth }

// SigAll is true when every request is to end in a completion.
func (q *SendQueue) SigAll() bool { return q.sigAll }

// At is request number i, which must be from Head up to but not Tail. The pointer holds
// until the next Push.
func (q *SendQueue) At(i uint32) *SendWQE { return q.ring.at(i) }

// Push appends a copy of the request. The error tells what broke which limit: the queue is
// full, too many SGEs, too long a message, too much inline data. Opcode and state are the
// affair of [QP.CheckPost].
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
	w.keep(wr)
	w.Refused, w.Started, w.FirstPSN, w.Packets, w.Chunk = WCSuccess, false, 0, 0, 0
	w.SG = room(w.SG, len(wr.SGList), q.maxSGE)
	for i, s := range wr.SGList {
		w.SG[i] = Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey}
	}
	w.Inline = w.Inline[:0]
	if wr.Flags&Inline != 0 {
		w.Inline = room(w.Inline, len(wr.InlineData), max(q.maxInline, atomicBytes))
		copy(w.Inline, wr.InlineData)
	}
	q.ring.tail++
	return nil
}

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
		return 0, fmt.Errorf("qp: %w: inline request with %d SGEs; put the bytes in InlineData", ErrBadWR, len(wr.SGList))
	}
	if wr.Opcode == WRAtomicWrite && len(wr.InlineData) <= atomicBytes {
		return uint64(len(wr.InlineData)), nil
	}
	if len(wr.InlineData) > q.maxInline {
		return 0, fmt.Errorf("qp: %w: %d bytes inline, the limit of this queue pair is %d", ErrTooLarge, len(wr.InlineData), q.maxInline)
	}
	return uint64(len(wr.InlineData)), nil
}

// Pop removes the oldest request; on an empty queue it does nothing.
func (q *SendQueue) Pop() {
	if q.Len() == 0 {
		return
	}
	// The slot must not keep alive what the request named.
	w := q.At(q.ring.head)
	w.AH = nil
	if w.Local != nil {
		w.Local.Reg.Memory = nil
	}
	q.ring.head++
}

// Reset removes all requests without a completion, as the RESET state demands, also from the source.
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
	// Nearly all requests have one piece: the free slots share one array for those.
	sg := make([]Segment, q.ring.free())
	for n := range sg {
		q.At(q.ring.tail + uint32(n)).SG = sg[n : n : n+1]
	}
}
