package blast

import (
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
)

// lossySpin is the time that a lossyReceiver polls before it sleeps. It is longer than a round
// trip: otherwise each repair of a stalled sender would wait for a wake-up.
const lossySpin = 200 * time.Microsecond

// lossyReceiver is the receiver of packets with ICRC that loses a part of them. It answers each
// batch with one acknowledgement or, if a packet is missing before others that have arrived, with
// a NAK.
type lossyReceiver struct {
	*checker
	arrivals
	losses losses
}

func newLossyReceiver(k *checker) *lossyReceiver {
	k.spin = lossySpin
	return &lossyReceiver{checker: k, arrivals: newArrivals(repairWindows * k.c.window()),
		losses: newLosses(k.c.Lose, 1)}
}

// take checks those of the packets of n trains that are not lost, and copies their payload.
func (r *lossyReceiver) take(n int) {
	for i := range r.msgs[:n] {
		for b := range slices.Chunk(r.room[i*trainRoom:][:r.msgs[i].len], r.c.Segment) {
			if !r.losses.next() {
				r.packet(b)
			}
		}
	}
	r.next = r.expected
}

// packet takes a packet. The payload of an early one is copied to its place too: the loop has no
// order of messages to keep.
func (r *lossyReceiver) packet(b []byte) {
	if len(b) != r.c.Segment || !bth.CheckICRC(r.seed, b) {
		r.wrong++
		return
	}
	psn := packets.PSN(b)
	switch r.arrivals.take(psn) {
	case duplicate:
		r.duplicates++
		return
	case outside:
		r.wrong++
		return
	case filling:
		r.repaired++
	}
	copy(r.c.place(r.region, psn), b[bth.BTHLen:])
	r.good++
}

// answer answers the packets so far.
func (r *lossyReceiver) answer(fd int) error {
	syndrome := bth.AckUnlimited
	if r.early > 0 {
		syndrome = bth.NakPSNSequence
	}
	packets.PutSyndrome(r.ack, syndrome)
	return r.checker.answer(fd)
}
