package join

import (
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
)

// burst sends the requests from first to last, without processing at the responder.
func (w *world) burst(first, last bth.PSN) {
	for s := first; s <= last; s++ {
		w.send(0, bth.Packet{Opcode: bth.RCWriteOnly, DestQP: 0x24, PSN: s, AckReq: s == last,
			RETH: bth.RETH{VA: 0x1000, RKey: 7, DMALen: 64}, Payload: make([]byte, 64)}, func() {})
	}
}

// answer acknowledges all requests up to s.
func (w *world) answer(s bth.PSN) {
	w.send(1, bth.Packet{Opcode: bth.RCAck, DestQP: 0x13, PSN: s,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited}}, func() {})
}

// A requester that probes with its oldest request after a timeout gets the acknowledgement of all:
// its responder was slow.
func TestAnAcknowledgementOfRequestsThatWereNotSentAgainShowsThatAllArrived(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, tt := range []struct {
		rule   string
		script func(w *world)
		late   uint64
		losses []string
	}{
		{"a late acknowledgement", func(w *world) {
			w.burst(540, 543)
			w.after(2*ms, func() { w.burst(540, 540) })
			w.after(3*ms, func() { w.answer(543) })
		}, 1, nil},
		{"after two timeouts", func(w *world) {
			w.burst(540, 543)
			w.after(2*ms, func() { w.burst(540, 540) })
			w.after(4*ms, func() { w.burst(540, 540) })
			w.after(5*ms, func() { w.answer(543) })
		}, 2, nil},
		{"after a retransmission of some", func(w *world) {
			w.burst(540, 543)
			w.after(2*ms, func() { w.burst(540, 541) })
			w.after(3*ms, func() { w.answer(543) })
		}, 1, nil},
		{"all were sent again", func(w *world) {
			w.burst(540, 543)
			w.after(2*ms, func() { w.burst(540, 543) })
			w.after(3*ms, func() { w.answer(543) })
		}, 0, []string{"behind from x PSN 540 request"}},
		{"only those that were sent again are acknowledged", func(w *world) {
			w.burst(540, 543)
			w.after(2*ms, func() { w.burst(540, 540) })
			w.after(3*ms, func() { w.answer(540); w.answer(543) })
		}, 0, []string{"behind from x PSN 540 request"}},
	} {
		w := newWorld()
		w.connect(0x11, 0x22, 100, 400, 3000)
		for i := range 10 {
			s := bth.PSN(500 + 4*i)
			w.after(int64(i+1)*ms, func() { w.burst(s, s+3) })
			w.after(int64(i+1)*ms+20_000, func() { w.answer(s + 3) })
		}
		w.after(12*ms, func() { tt.script(w) })
		w.after(30*ms, func() { w.burst(544, 547) })
		w.after(30*ms+20_000, func() { w.answer(547) })
		r := w.join(t, Options{Offset: 3700 * time.Millisecond})
		if got := told(w, r); !slices.Equal(got, tt.losses) || r.Total.Late != tt.late {
			t.Errorf("%s: reported %q, %d late; want %q, %d late", tt.rule, got, r.Total.Late, tt.losses, tt.late)
		}
	}
}
