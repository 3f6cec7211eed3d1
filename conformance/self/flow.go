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
	cm     bool // connected with rdma_cm

	next   bth.PSN            // next request that the endpoint expects
	kept   map[bth.PSN]uint32 // requests beyond a gap, which the endpoint keeps: PSNs that each takes
	failed bool               // the endpoint sent a fatal NAK
	msn    uint32             // of the latest response
}

func newFlow(local conformance.Local, target conformance.Target, kind bth.Service) *flow {
	return &flow{local: local, target: target, kind: kind, next: local.PSN, kept: map[bth.PSN]uint32{}}
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
