package self

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
)

// flow is what the world knows about the connection of one program with the tester. Mutants read
// it to tell new requests from duplicates.
type flow struct {
	local  conformance.Local
	target conformance.Target
	kind   bth.Service
	cm     bool   // connected with rdma_cm
	id     uint64 // communication ID of the endpoint
	ready  bool   // the tester sent an RTU

	next   bth.PSN            // next request that the endpoint expects
	kept   map[bth.PSN]uint32 // requests beyond a gap, which the endpoint keeps: PSNs that each takes
	failed bool               // the endpoint sent a fatal NAK
	msn    uint32             // of the latest response
}

func newFlow(local conformance.Local, target conformance.Target, kind bth.Service) *flow {
	return &flow{local: local, target: target, kind: kind, next: local.PSN, kept: map[bth.PSN]uint32{}}
}

// admitted reports whether the endpoint, without a mutant, processes f, a packet to the queue pair
// of its flow.
func (f *frame) admitted() bool {
	return f.badIP == nil && !f.badICRC && f.src == f.flow.local.Addr && f.Version == 0 &&
		f.PKey&0x7fff == 0x7fff && f.flow.kind == f.Opcode.Info().Service
}

// span returns the number of PSNs that a request takes: that of the response packets of a READ.
func (w *flow) span(f *frame) uint32 {
	if f.is(bth.OpReadRequest) && f.RETH.DMALen > 0 && w.target.MTU > 0 {
		return (f.RETH.DMALen-1)/uint32(w.target.MTU) + 1
	}
	return 1
}

// maxKept is the maximum number of early requests that a flow remembers.
const maxKept = 1024

// incoming sets ahead of an RC request, and advances the expected PSN.
func (w *flow) incoming(f *frame) {
	f.ahead = f.PSN.Diff(w.next)
	switch {
	case f.ahead > 0:
		if len(w.kept) < maxKept {
			w.kept[f.PSN] = w.span(f)
		}
	case f.ahead == 0:
		w.next = w.next.Add(w.span(f))
		for n, ok := w.kept[w.next]; ok; n, ok = w.kept[w.next] {
			delete(w.kept, w.next)
			w.next = w.next.Add(n)
		}
	}
}

// outgoing corrects the expected PSN after a NAK, whose request was not executed.
func (w *flow) outgoing(f *frame) {
	if f.hasAETH() {
		w.msn = f.AETH.MSN
	}
	if f.rnr() || f.nak() {
		w.next = f.PSN
		w.failed = w.failed || f.nak() && f.AETH.Syndrome != bth.NakPSNSequence
	}
}

// history holds the latest requests of the endpoint on one connection, and what the tester has
// acknowledged.
type history struct {
	sent   map[bth.PSN]*frame // copies of the requests by PSN
	order  []bth.PSN
	last   bth.PSN // newest PSN sent; valid if there are requests
	acked  bth.PSN // newest PSN acknowledged; valid if hasAck
	hasAck bool
}

// maxHistory is the number of requests that a history holds.
const maxHistory = 512

// histories are those of the connections of a world.
type histories map[*flow]*history

func (h histories) of(f *frame) *history {
	x := h[f.flow]
	if x == nil {
		x = &history{sent: map[bth.PSN]*frame{}}
		h[f.flow] = x
	}
	return x
}

// sees records a request of the endpoint and reports whether it was sent before.
func (h *history) sees(f *frame) (again bool) {
	if _, again = h.sent[f.PSN]; again {
		return true
	}
	if len(h.order) == 0 || f.PSN.Diff(h.last) > 0 {
		h.last = f.PSN
	}
	if len(h.order) >= maxHistory {
		delete(h.sent, h.order[0])
		h.order = h.order[1:]
	}
	h.sent[f.PSN] = f.clone()
	h.order = append(h.order, f.PSN)
	return false
}

// acks records an acknowledgement of the tester.
func (h *history) acks(f *frame) {
	psn := f.PSN
	switch {
	case f.ack() || f.is(bth.OpReadResponse, bth.OpAtomicAck):
	case f.seqNAK() || f.rnr():
		psn = psn.Sub(1)
	default:
		return
	}
	if len(h.order) > 0 && psn.Diff(h.last) > 0 {
		return
	}
	if !h.hasAck || psn.Diff(h.acked) > 0 {
		h.acked, h.hasAck = psn, true
	}
}

// open returns the requests after the newest acknowledged one, in order of transmission.
func (h *history) open() (all []*frame) {
	for _, psn := range h.order {
		if !h.hasAck || psn.Diff(h.acked) > 0 {
			all = append(all, h.sent[psn])
		}
	}
	return all
}

// requester makes hooks for a faulty requester: request sees each request of the endpoint with
// whether it was sent before, and response each response of the tester. Both may be nil.
func requester(request func(w *world, h *history, f *frame, again bool),
	response func(w *world, h *history, f *frame)) func(*world) hooks {
	return func(w *world) hooks {
		all := histories{}
		return hooks{
			out: func(f *frame) {
				if f.flow == nil || !f.rcRequest() {
					return
				}
				h := all.of(f)
				again := h.sees(f)
				if request != nil {
					request(w, h, f, again)
				}
			},
			in: func(f *frame) {
				if f.flow == nil || f.err != nil || !f.Opcode.Info().Response() {
					return
				}
				h := all.of(f)
				if response != nil {
					response(w, h, f)
				}
				h.acks(f)
			},
		}
	}
}
