package rings

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// RecvConfig is the configuration of a [RecvRing].
type RecvConfig struct {
	PD     *mr.PD // protection domain of the receives' memory
	MaxSGE int    // maximum number of SGEs of a receive
	Shared bool   // whether the ring is a shared receive queue

	// Events receives SRQ_LIMIT_REACHED of a shared receive queue; it may be nil.
	Events qp.EventSink
	// NewBuffer provides the buffer when [RecvRing.Modify] changes MaxWR; if it is nil, the
	// depth cannot change.
	NewBuffer NewBuffer
}

// Offsets in struct rxe_recv_wqe.
const (
	recvID     = 0
	recvDMA    = 16
	recvHeader = recvDMA + dmaHeader // offset of the SGEs
)

// RecvElemSize returns the element size in bytes for receives of up to maxSGE SGEs.
func RecvElemSize(maxSGE int) int { return recvHeader + maxSGE*sgeSize }

// RecvRing is a receive queue that a program fills, of one queue pair or shared. It is the
// [qp.RecvSource] of its queue pairs.
type RecvRing struct {
	in     inRing
	cfg    RecvConfig
	limit  int    // armed limit for SRQ_LIMIT_REACHED, 0 if not armed
	copied []byte // private copy of the slot being decoded
}

// NewRecvRing formats buf, which must not be visible to the program yet, and returns the ring
// in it. The elements of g must be large enough for the limits of cfg: see [RecvElemSize].
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

// Take copies the next receive to dst and frees its slot. A receive with more SGEs than cfg.MaxSGE,
// or longer than [qp.MaxMessage] bytes, is returned with its ID and one SGE with an invalid key: a
// message completes it with LOC_PROT_ERR, a flush with WR_FLUSH_ERR. Take returns false if there is
// no receive.
func (r *RecvRing) Take(dst *qp.RecvWQE) bool {
	if !r.in.fetch(r.copied) {
		return false
	}
	r.in.release(1)
	dst.ID = host.Uint64(r.copied[recvID:])
	if !r.decodeSG(dst) {
		dst.SG, dst.Length = append(dst.SG[:0], invalidSGE), uint64(invalidSGE.Length)
	}
	r.checkLimit()
	return true
}

// invalidSGE is an SGE that always fails the key check: [mr.Table] never allocates key 0.
var invalidSGE = qp.Segment{Length: 1}

// decodeSG decodes the SGEs to dst, and reports whether their number and total length are within
// the limits.
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

// PD returns the protection domain of the receives' memory.
func (r *RecvRing) PD() *mr.PD { return r.cfg.PD }

// Shared reports whether the ring is a shared receive queue.
func (r *RecvRing) Shared() bool { return r.cfg.Shared }

// Len returns the number of receives that were posted and not taken.
func (r *RecvRing) Len() int { return r.in.waiting() }

// Depth returns the capacity in receives.
func (r *RecvRing) Depth() int { return r.in.mem.geo.Depth() }

// Reset removes all receives and generates no completions.
func (r *RecvRing) Reset() { r.in.clear() }

// Lost reports whether an access to the buffer has faulted. After that the ring is empty. Lost
// may be called at any time.
func (r *RecvRing) Lost() bool { return r.in.mem.lost.Load() }
