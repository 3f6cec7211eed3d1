package rings

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// RecvConfig holds what a [RecvRing] is made for.
type RecvConfig struct {
	PD     *mr.PD // of the memory that receives name
	MaxSGE int    // pieces of one receive
	Shared bool   // a shared receive queue

	// Events takes SRQ_LIMIT_REACHED of a shared receive queue; it may be nil.
	Events qp.EventSink
	// NewBuffer provides the buffer for [RecvRing.Modify] of MaxWR; nil means that the depth cannot
	// change.
	NewBuffer NewBuffer
}

// Offsets in struct rxe_recv_wqe.
const (
	recvID     = 0
	recvDMA    = 16
	recvHeader = recvDMA + dmaHeader // where SGEs begin
)

// RecvElemSize returns the size of an element in bytes for receives of up to maxSGE pieces.
func RecvElemSize(maxSGE int) int { return recvHeader + maxSGE*sgeSize }

// RecvRing is a receive queue, of one queue pair or shared, that a program fills. It is the
// [qp.RecvSource] of its queue pairs.
type RecvRing struct {
	in     intake
	cfg    RecvConfig
	limit  int    // 0: not armed
	copied []byte // the slot being decoded
}

// NewRecvRing formats buf, which the program must not see yet, and returns the ring in it. Elements
// of g must have room for the limits of cfg: see [RecvElemSize].
func NewRecvRing(g Geometry, buf []byte, cfg RecvConfig) (*RecvRing, error) {
	if cfg.MaxSGE < 0 {
		return nil, fmt.Errorf("rings: receive ring for %d SGEs: the limit cannot be negative", cfg.MaxSGE)
	}
	need := RecvElemSize(cfg.MaxSGE)
	if g.ElemSize() < need {
		return nil, fmt.Errorf("rings: elements of %d bytes, receives of %d SGEs need %d",
			g.ElemSize(), cfg.MaxSGE, need)
	}
	r := &RecvRing{cfg: cfg, copied: make([]byte, need)}
	if err := r.in.mem.format(g, buf); err != nil {
		return nil, err
	}
	return r, nil
}

// Take copies the next receive to dst and frees its slot. A receive with more SGEs than the ring was
// made for, or of more than [qp.MaxMessage] bytes, is taken with its ID and one piece that no key
// opens: the message that gets it completes it with LOC_PROT_ERR, and a flush with WR_FLUSH_ERR.
func (r *RecvRing) Take(dst *qp.RecvWQE) bool {
	if !r.in.fetch(r.copied) {
		return false
	}
	r.in.release(1)
	dst.ID = host.Uint64(r.copied[recvID:])
	if !r.decodeSG(dst) {
		dst.SG, dst.Length = append(dst.SG[:0], notMemory), uint64(notMemory.Length)
	}
	r.checkLimit()
	return true
}

// notMemory is a piece that never passes the check of its key: [mr.Table] gives out no key 0.
var notMemory = qp.Segment{Length: 1}

// decodeSG fills in the pieces, and reports whether they are within the limits.
func (r *RecvRing) decodeSG(dst *qp.RecvWQE) bool {
	n := host.Uint32(r.copied[recvDMA+dmaNumSGE:])
	if uint64(n) > uint64(r.cfg.MaxSGE) {
		return false
	}
	if cap(dst.SG) < r.cfg.MaxSGE {
		dst.SG = make([]qp.Segment, 0, r.cfg.MaxSGE)
	}
	dst.SG, dst.Length = dst.SG[:0], 0
	for data := r.copied[recvHeader:]; n > 0; n-- {
		s := sgeOf(data)
		dst.SG = append(dst.SG, qp.Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey})
		dst.Length += uint64(s.Length)
		data = data[sgeSize:]
	}
	return dst.Length <= qp.MaxMessage
}

// PD returns the protection domain of the memory that receives name.
func (r *RecvRing) PD() *mr.PD { return r.cfg.PD }

// Shared reports whether the ring is a shared receive queue.
func (r *RecvRing) Shared() bool { return r.cfg.Shared }

// Len returns the number of receives that are posted and not taken.
func (r *RecvRing) Len() int { return r.in.waiting() }

// Depth returns the number of receives the ring holds.
func (r *RecvRing) Depth() int { return r.in.mem.geo.Depth() }

// Reset removes all receives without a completion.
func (r *RecvRing) Reset() { r.in.clear() }

// Lost reports whether an access to the buffer faulted. From then on the ring is empty. It may be
// called at any time.
func (r *RecvRing) Lost() bool { return r.in.mem.lost.Load() }
