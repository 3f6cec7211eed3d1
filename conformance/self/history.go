package self

import "github.com/gorxe/gorxe/bth"

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
