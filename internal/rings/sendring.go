package rings

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// SendConfig holds the limits and lookups of a [SendRing].
type SendConfig struct {
	MaxSGE    int // pieces of one request
	MaxInline int // bytes of inline data of one request
	SigAll    bool
	Datagram  bool // type UD: SENDs name an address handle

	// AH returns the address handle of a number that the program was given when it created the
	// handle; false means that it has none of this number. It is called while a request is fetched,
	// for Datagram only.
	AH func(num uint32) (qp.AH, bool)
}

// SendElemSize returns the size of an element in bytes for requests of up to maxSGE pieces or
// maxInline bytes of inline data.
func SendElemSize(maxSGE, maxInline int) int {
	return sendHeader + max(maxSGE*sgeSize, maxInline, atomicBytes)
}

// SendRing is the send queue that a program fills. It is the [qp.SendSource] of its queue pair.
type SendRing struct {
	in     intake
	cfg    SendConfig
	copied []byte // the slot being decoded
	bind   mr.Bind
}

// NewSendRing formats buf, which the program must not see yet, and returns the ring in it. Elements
// of g must have room for the limits of cfg: see [SendElemSize].
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

// Fetch copies the next request to wr. The result is FetchBad for a request with an unknown opcode,
// more SGEs or inline data than the ring was made for, or an unknown address handle. Other rules are
// those of [qp.QP.CheckPost].
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

// Reset removes all requests, fetched or not, without a completion, as the state RESET demands.
func (r *SendRing) Reset() { r.in.clear() }

// Len returns the number of requests that were posted and not fetched.
func (r *SendRing) Len() int { return r.in.waiting() }

// Depth returns the number of requests the ring holds.
func (r *SendRing) Depth() int { return r.in.mem.geo.Depth() }

// Lost reports whether an access to the buffer faulted. From then on the ring is empty. It may be
// called at any time.
func (r *SendRing) Lost() bool { return r.in.mem.lost.Load() }
