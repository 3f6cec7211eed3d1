package transport

import (
	"math/rand/v2"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// goBackN observes a requester from the wire. Each request packet must have the PSN after the one
// before it, unless a cause was delivered: a sequence NAK, an RNR NAK, a gap in READ responses,
// or a timeout. Then sending continues at the oldest unacknowledged PSN. If the peer keeps early
// packets, that one packet may be sent alone.
type goBackN struct {
	t         *testing.T
	mtu       uint32
	reads     bool // only data advances una: an ACK or NAK that passes a READ is an implied NAK
	una, next bth.PSN
	end       bth.PSN // highest PSN sent so far, plus one
	cause     bool    // a cause to go back was delivered
	rxe       bool    // the peer looks like Linux rxe: everything is sent again
	alone     bool    // the last packet was the one at una, perhaps a repair
	resume    bth.PSN // PSN that follows if it was
	jumps     int
}

// sent checks a request packet when it is sent, before the wire can lose it.
func (g *goBackN) sent(p *bth.Packet) {
	g.t.Helper()
	n := uint32(1)
	if p.Opcode == bth.RCReadRequest {
		n = packets(uint64(p.RETH.DMALen), g.mtu)
	}
	alone := false
	switch {
	case g.cause && p.PSN == g.una:
		if p.PSN != g.next {
			g.jumps++
			if alone = !g.rxe; !g.alone {
				g.resume = g.next
			}
		}
		g.cause = false
	case p.PSN == g.next:
	case g.alone && p.PSN == g.resume:
		g.alone = false
	case p.PSN == g.una && g.una.Diff(g.next) > 0: // an ACK arrived before the retransmission
	default:
		g.t.Fatalf("PSN %d after a packet that made %d the next; the oldest unacknowledged is %d", p.PSN, g.next, g.una)
	}
	g.alone = alone || g.alone && p.PSN == g.una
	g.next = p.PSN.Add(n)
	if g.next.Diff(g.end) > 0 {
		g.end = g.next
	}
}

// answered records a response that reaches the requester.
func (g *goBackN) answered(p *bth.Packet) {
	end := p.PSN.Add(1)
	switch s := p.AETH.Syndrome; {
	case p.Opcode != bth.RCAck:
		if p.PSN != g.una {
			g.cause = g.cause || p.PSN.Diff(g.una) > 0
			return
		}
	case s == bth.NakPSNSequence, s.IsRNR():
		end = p.PSN
		g.cause = true
	}
	if g.reads && p.Opcode == bth.RCAck {
		g.cause = true
		return
	}
	if end.Diff(g.una) > 0 && end.Diff(g.end) <= 0 {
		g.una = end
	}
}

func TestGoBackN(t *testing.T) {
	for name, op := range map[string]qp.WROpcode{"WRITE": qp.WRWrite, "SEND": qp.WRSend, "READ": qp.WRRead} {
		for _, rxe := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " to rxe"}[rxe], func(t *testing.T) {
				jumps := 0
				for seed := range uint64(60) {
					jumps += lossyRun(t, op, seed, rxe)
				}
				if jumps < 60 {
					t.Errorf(
						"the requester went back %d times in 60 runs: the losses should have made it do so more often",
						jumps)
				}
			})
		}
	}
}

// lossyRun sends ten messages over a wire that loses 10 % of all packets and returns how often
// the requester went back. With rxe, both ends look like Linux rxe to each other.
func lossyRun(t *testing.T, op qp.WROpcode, seed uint64, rxe bool) int {
	t.Helper()
	w := newPump(256)
	rng := rand.New(rand.NewPCG(seed, 7))
	g := &goBackN{t: t, mtu: 256, reads: op == qp.WRRead, rxe: rxe}
	for i := range 10 {
		n := uint32(rng.IntN(8 * 256))
		wr := qp.SendWR{ID: uint64(i), Opcode: op, RKey: w.reg[1].RKey(),
			SGList: []qp.SGE{{Length: n, LKey: w.reg[0].LKey()}}}
		if err := w.qp[0].SQ.Push(&wr); err != nil {
			t.Fatal(err)
		}
	}
	receives := 0
	for w.qp[0].SQ.Len() > 0 {
		busy := false
		for i := range w.rc {
			more := w.rc[i].Transmit(w.now, nil, w.batch, 1+rng.IntN(8))
			busy = busy || more || w.batch.Len() > 0
			for k := range w.batch.Len() {
				w.raw = append(w.batch.At(k).AppendTo(w.raw[:0]), 0, 0, 0, 0)
				if err := w.p.Decode(w.raw); err != nil {
					t.Fatal(err)
				}
				w.p.MigReq = !rxe
				if i == 0 {
					g.sent(&w.p)
				}
				if rng.IntN(10) == 0 {
					continue
				}
				if i == 1 {
					g.answered(&w.p)
				}
				w.rc[1-i].Receive(w.now, &w.p)
			}
			w.batch.Reset()
		}
		// A receive that is posted late causes an RNR NAK now and then.
		if op == qp.WRSend && receives < 10 && rng.IntN(4) == 0 {
			receives++
			if err := w.qp[1].Recv.(*qp.RecvQueue).Push(&qp.RecvWR{SGList: []qp.SGE{{Length: 2048,
				LKey: w.reg[1].LKey()}}}); err != nil {
				t.Fatal(err)
			}
		}
		if at, ok := w.rc[0].NextTimeout(); ok && !busy {
			w.now = max(w.now, at)
			w.rc[0].Timeout(w.now)
			g.cause = true
		}
	}
	var wcs [32]qp.WC
	for _, wc := range wcs[:w.cq[0].Poll(wcs[:])] {
		if wc.Status != qp.WCSuccess {
			t.Fatalf("seed %d: request %d ended with %s", seed, wc.WRID, wc.Status.Name())
		}
	}
	if kept := w.rc[1].Counters().EarlyKept; rxe && kept > 0 {
		t.Fatalf("seed %d: %d packets were kept", seed, kept)
	}
	return g.jumps
}
