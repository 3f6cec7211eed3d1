package transport

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Each NAK of the peer acknowledges one more packet and requests the next. The number of packets
// sent again for each must fall to a few.
func TestNAKsWithoutProgressDoNotGetAWindowEach(t *testing.T) {
	const window = 256
	for name, syndrome := range map[string]bth.Syndrome{"sequence NAKs": bth.NakPSNSequence, "RNR NAKs": bth.RNR(1)} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, func(a *qp.Attr, c *Config) { a.RetryCnt, a.RNRRetry, c.Window = 7, infiniteRNR, window })
			wr := qp.SendWR{Opcode: qp.WRWrite, RKey: 1,
				SGList: []qp.SGE{{Addr: 0x10000, Length: 1 << 20, LKey: s.regions["rw"].LKey()}}}
			if err := s.qp.SQ.Push(&wr); err != nil {
				t.Fatal(err)
			}
			send := func() int {
				s.rc.Transmit(s.now, nil, s.batch, 256)
				n := s.batch.Len()
				s.batch.Reset()
				return n
			}
			if n := send(); n < 64 {
				t.Fatalf("%d packets left at first, not a window", n)
			}
			nak := bth.Packet{Opcode: bth.RCAck, DestQP: 0x11, PSN: scriptPSN, MigReq: true, PKey: defaultPKey}
			nak.AETH = bth.AETH{Syndrome: syndrome}
			sent := 0
			const naks, after = 1000, 100
			for i := range naks {
				nak.PSN = nak.PSN.Add(1)
				s.rc.Receive(s.now, &nak)
				s.now += Time(bth.RNRDelay(1))
				s.rc.Timeout(s.now)
				if n := send(); i >= after {
					sent += n
				}
			}
			if mean := float64(sent) / (naks - after); mean > 8 || sent == 0 {
				t.Errorf("a NAK had %.1f packets sent, want 8 at most", mean)
			}
			if st := s.qp.Attr.State; st != qp.RTS {
				t.Errorf("the queue pair is in %v", st)
			}
		})
	}
}

// NAKs before which most outstanding packets were acknowledged are occasional losses: the window
// stays.
func TestNAKsWithProgressLeaveTheWindow(t *testing.T) {
	var r defaultCongestion
	r.Start(WindowLimits{Initial: 64, Max: 64})
	for i := range 10 * maxVainNAKs {
		r.OnAck(0, Ack{PSNs: 17})
		r.OnLoss(0, Loss{LossSequence, 64, 64})
		if r.Window() != 64 {
			t.Fatalf("the window is %d after NAK %d", r.Window(), i)
		}
	}
}
