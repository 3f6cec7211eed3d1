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
	kept   []byte // payloads of early packets, by PSN modulo their number
}

func newLossyReceiver(k *checker) *lossyReceiver {
	k.spin = lossySpin
	r := &lossyReceiver{checker: k, arrivals: newArrivals(repairWindows * k.c.window()),
		losses: newLosses(k.c.Lose, 1)}
	r.kept = make([]byte, r.reach()*k.c.payload())
	return r
}

// keptPayload returns the memory for the payload of an early packet.
func (r *lossyReceiver) keptPayload(psn bth.PSN) []byte {
	n := r.c.payload()
	return r.kept[int(psn)%r.reach()*n:][:n]
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

// packet takes a packet. The payload of an early one is kept until the gap before it is filled,
// and then copied to its place: an RDMA responder executes requests in order (IBA 9.5).
func (r *lossyReceiver) packet(b []byte) {
	if len(b) != r.c.Segment || !bth.CheckICRC(r.seed, b) {
		r.wrong++
		return
	}
	psn, payload := packets.PSN(b), b[bth.BTHLen:]
	switch r.arrivals.take(psn) {
	case inOrder:
		copy(r.c.place(r.region, psn), payload)
	case filling:
		r.repaired++
		copy(r.c.place(r.region, psn), payload)
		for p := psn.Add(1); p != r.expected; p = p.Add(1) {
			copy(r.c.place(r.region, p), r.keptPayload(p))
		}
	case early:
		copy(r.keptPayload(psn), payload)
	case duplicate:
		r.duplicates++
		return
	case outside:
		r.wrong++
		return
	}
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
