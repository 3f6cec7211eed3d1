package rings

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// SendConfig is the configuration of a [SendRing].
type SendConfig struct {
	MaxSGE    int // maximum number of SGEs of a request
	MaxInline int // maximum inline data of a request in bytes
	SigAll    bool
	Datagram  bool // queue pair type UD: SENDs have an address handle

	// AH returns the address handle with number num, which the program received when it created the
	// handle; false if there is none. It is called during Fetch, only if Datagram is set.
	AH func(num uint32) (qp.AH, bool)
}

// SendElemSize returns the element size in bytes for requests of up to maxSGE SGEs or maxInline
// bytes of inline data.
func SendElemSize(maxSGE, maxInline int) int {
	return sendHeader + max(maxSGE*sgeSize, maxInline, atomicBytes)
}

// SendRing is a send queue that a program fills. It is the [qp.SendSource] of its queue pair.
type SendRing struct {
	in     inRing
	cfg    SendConfig
	copied []byte // private copy of the slot being decoded
	bind   mr.Bind
}

// NewSendRing formats buf, which must not be visible to the program yet, and returns the ring
// in it. The elements of g must be large enough for the limits of cfg: see [SendElemSize].
func NewSendRing(g Geometry, buf []byte, cfg SendConfig) (*SendRing, error) {
	if cfg.MaxSGE < 0 || cfg.MaxInline < 0 {
		return nil, fmt.Errorf("rings: send ring for %d SGEs and %d bytes inline: limits cannot be negative",
			cfg.MaxSGE, cfg.MaxInline)
	}
	need := SendElemSize(cfg.MaxSGE, cfg.MaxInline)
	if g.ElemSize() < need {
		return nil, fmt.Errorf("rings: elements of %d bytes, send requests of %d SGEs or %d bytes inline need %d",
			g.ElemSize(), cfg.MaxSGE, cfg.MaxInline, need)
	}
	if cfg.Datagram && cfg.AH == nil {
		return nil, fmt.Errorf("rings: a send ring for datagrams needs AH, the lookup of address handles")
	}
	r := &SendRing{cfg: cfg, copied: make([]byte, need)}
	if err := r.in.mem.format(g, buf); err != nil {
		return nil, err
	}
	return r, nil
}

// Fetch copies the next request to wr. It returns FetchBad for a request with an unknown
// opcode, more SGEs or inline data than the limits of the ring, or an unknown address handle.
// [qp.QP.CheckPost] checks the other rules.
func (r *SendRing) Fetch(wr *qp.SendWR) qp.FetchStatus {
	if !r.in.fetch(r.copied) {
		return qp.FetchNone
	}
	if !r.decode(wr) {
		*wr = qp.SendWR{ID: wr.ID, SGList: wr.SGList[:0], InlineData: wr.InlineData[:0]}
		return qp.FetchBad
	}
	return qp.FetchGot
}

// Retire frees the n oldest fetched slots for the program.
func (r *SendRing) Retire(n int) { r.in.release(n) }

// Reset removes all requests, fetched or not, and generates no completions, as the RESET state
// requires.
func (r *SendRing) Reset() { r.in.clear() }

// Len returns the number of requests that were posted and not fetched.
func (r *SendRing) Len() int { return r.in.waiting() }

// Depth returns the capacity in requests.
func (r *SendRing) Depth() int { return r.in.mem.geo.Depth() }

// Lost reports whether an access to the buffer has faulted. After that the ring is empty. Lost
// may be called at any time.
func (r *SendRing) Lost() bool { return r.in.mem.lost.Load() }
