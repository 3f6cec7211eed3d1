package transport

import "testing"

func TestTheWindowFollowsItsRules(t *testing.T) {
	type step struct {
		ack     Ack    // if PSNs is not 0
		loss    *Loss  // otherwise this, if not nil
		timeout uint32 // otherwise a timeout with that many PSNs outstanding
		window  uint32 // after it
	}
	grows := func(psns uint32, limited bool) Ack { return Ack{PSNs: psns, Limited: limited, PeerHasRoom: true} }
	nak := func(repeated uint32) *Loss { return &Loss{LossSequence, 8, repeated} }
	for _, tt := range []struct {
		rule   string
		limits WindowLimits
		steps  []step
	}{
		{"a window that was all outstanding grows by what is acknowledged, up to its maximum",
			WindowLimits{4, 10}, []step{
				{ack: grows(4, true), window: 8}, {ack: grows(4, true), window: 10}, {ack: grows(4, true), window: 10},
			}},
		{"one that was not does not, and being so counts once", WindowLimits{4, 64}, []step{
			{ack: grows(4, false), window: 4}, {ack: grows(4, true), window: 8}, {ack: grows(8, false), window: 8},
		}},
		{"it counts until the window grows", WindowLimits{4, 64}, []step{
			{ack: Ack{PSNs: 4, Limited: true}, window: 4}, {ack: grows(4, false), window: 8},
		}},
		{"a timeout halves what was outstanding, and the window comes back to the initial one at once, and beyond slowly", WindowLimits{8, 64}, []step{
			{timeout: 8, window: 4}, {ack: grows(3, true), window: 7}, {ack: grows(7, true), window: 8},
			{ack: grows(8, true), window: 8}, {ack: grows(16, true), window: 8}, {ack: grows(8, true), window: 10},
			{ack: grows(40, false), window: 10},
		}},
		{"a timeout leaves one packet", WindowLimits{8, 64}, []step{{timeout: 1, window: 1}, {timeout: 0, window: 1}}},
		{"losses of more than half a step make a window beyond the initial one 0.7 times as large, down to whole steps, and not below", WindowLimits{8, 64}, []step{
			{ack: grows(22, true), window: 30}, {loss: nak(2), window: 20}, {loss: nak(2), window: 14},
			{loss: nak(8), window: 8}, {ack: grows(100, false), window: 8}, {loss: nak(2), window: 8},
		}},
		{"less in a round, which ends after a window is acknowledged, leaves it", WindowLimits{16, 64}, []step{
			{ack: grows(44, true), window: 60}, {loss: nak(2), window: 60}, {ack: grows(59, false), window: 60},
			{ack: grows(1, false), window: 60}, {loss: nak(2), window: 60}, {ack: grows(59, false), window: 60},
			{loss: nak(1), window: 40},
		}},
		{"the window grows slowly after any loss, and from then on if it was reduced", WindowLimits{16, 64}, []step{
			{ack: grows(16, true), window: 32}, {loss: nak(1), window: 32}, {ack: grows(127, true), window: 32},
			{ack: grows(1, true), window: 36}, {ack: grows(143, true), window: 36}, {loss: nak(3), window: 24},
			{ack: grows(95, true), window: 24}, {ack: grows(1, true), window: 28},
		}},
		{"an RNR NAK leaves the window", WindowLimits{8, 64}, []step{
			{ack: grows(22, true), window: 30}, {loss: &Loss{LossRNR, 8, 8}, window: 30},
			{ack: grows(30, true), window: 60},
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var r defaultCongestion
			r.Start(tt.limits)
			for i, s := range tt.steps {
				switch {
				case s.ack.PSNs > 0:
					r.OnAck(0, s.ack)
				case s.loss != nil:
					r.OnLoss(0, *s.loss)
				default:
					r.OnTimeout(0, s.timeout)
				}
				if r.Window() != s.window {
					t.Fatalf("after step %d the window is %d, want %d", i, r.Window(), s.window)
				}
			}
		})
	}
}

// NAKs between which the peer acknowledges at most a quarter of what is outstanding are in vain.
func TestNAKsInARowWithoutProgressHalveTheWindow(t *testing.T) {
	for _, tt := range []struct{ acked, window uint32 }{{16, 32}, {17, 64}} {
		var r defaultCongestion
		r.Start(WindowLimits{64, 64})
		for range maxVainNAKs {
			r.OnAck(0, Ack{PSNs: tt.acked})
			r.OnLoss(0, Loss{LossSequence, 64, 64})
		}
		if r.Window() != tt.window {
			t.Errorf("with %d acknowledged the window is %d, want %d", tt.acked, r.Window(), tt.window)
		}
	}
}
