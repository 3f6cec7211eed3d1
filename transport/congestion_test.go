package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// toyCongestion lets window PSNs be outstanding, one less after each loss and timeout, and sends
// not earlier than gap after the last packet. A congestion notification doubles the gap.
type toyCongestion struct {
	window   uint32
	gap      Time
	sentAt   Time
	acked    uint32
	restarts int
}

func (t *toyCongestion) Start(WindowLimits)        { t.restarts++ }
func (t *toyCongestion) OnSend(now Time, _ uint32) { t.sentAt = now }
func (t *toyCongestion) OnAck(_ Time, a Ack)       { t.acked += a.PSNs }
func (t *toyCongestion) OnLoss(Time, Loss)         { t.window-- }
func (t *toyCongestion) OnTimeout(Time, uint32)    { t.window-- }
func (t *toyCongestion) OnCNP(Time)                { t.gap *= 2 }
func (t *toyCongestion) Window() uint32            { return t.window }
func (t *toyCongestion) NotBefore() Time {
	if t.sentAt == 0 {
		return 0
	}
	return t.sentAt + t.gap
}

func TestACongestionControlOfTheCaller(t *testing.T) {
	with := func(toy *toyCongestion) func(*qp.Attr, *Config) {
		return func(_ *qp.Attr, c *Config) { c.Congestion = func() Congestion { return toy } }
	}
	for _, s := range []struct {
		rule   string
		toy    toyCongestion
		script string
		want   toyCongestion // window, gap, acked, restarts
	}{
		{"its window bounds what is outstanding, and it learns of acknowledgements", toyCongestion{window: 2}, `
			post write id=1 len=1024
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE`, toyCongestion{window: 2, acked: 4, restarts: 1}},
		{"a window of less than 1 counts as 1", toyCongestion{window: 0}, `
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512 ack
			< ACKNOWLEDGE psn=100
			> RDMA_WRITE_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE`, toyCongestion{acked: 2, restarts: 1}},
		{"it learns of a NAK and of a timeout", toyCongestion{window: 4}, `
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			advance 70ms
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101 rxe
			wc 1 SUCCESS RDMA_WRITE`, toyCongestion{window: 2, acked: 2, restarts: 1}},
		{"requests leave no sooner than it says, and a timer waits for that", toyCongestion{window: 8, gap: 10_000}, `
			post write id=1 len=0
			> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack
			post write id=2 len=0
			post write id=3 len=0
			advance 9us
			advance 1us
			> RDMA_WRITE_ONLY psn=101 len=0 va=0x40000 dma=0 ack
			> RDMA_WRITE_ONLY psn=102 len=0 va=0x40000 dma=0 ack
			advance 1ms
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE
			wc 2 SUCCESS RDMA_WRITE
			wc 3 SUCCESS RDMA_WRITE`, toyCongestion{window: 8, gap: 10_000, acked: 3, restarts: 1}},
		{"acknowledgements and responses leave all the same", toyCongestion{window: 8, gap: 1_000_000}, `
			post write id=1 len=0
			> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack
			post write id=2 len=0
			< RDMA_WRITE_ONLY psn=100 va=0x10000 dma=0 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_READ_REQUEST psn=101 rkey=rw va=0x10000 dma=4
			> RDMA_READ_RESPONSE_ONLY psn=101 len=4 syn=ack msn=2`, toyCongestion{window: 8, gap: 1_000_000, restarts: 1}},
		{"it is told only of packets that leave: a call with the window full delays nothing",
			toyCongestion{window: 1, gap: 10_000}, `
			post write id=1 len=0
			> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack
			advance 10us
			post write id=2 len=0
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS RDMA_WRITE
			> RDMA_WRITE_ONLY psn=101 len=0 va=0x40000 dma=0 ack`, toyCongestion{window: 1, gap: 10_000, acked: 1, restarts: 1}},
		{"a local request waits for the repair of what is before it", toyCongestion{window: 8, gap: 10_000}, `
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=100 syn=seq
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			key w2 shut
			advance 10us
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512 ack
			key w2 open`, toyCongestion{window: 7, gap: 10_000, restarts: 1}},
		{"a timeout comes while it waits, as it would without", toyCongestion{window: 8, gap: 80_000_000}, `
			post write id=1 len=0
			> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack
			advance 79ms
			counts ack_timeouts=1
			advance 1ms
			> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack`, toyCongestion{window: 7, gap: 80_000_000, restarts: 1}},
		{"a congestion notification reaches it, whatever its PSN", toyCongestion{window: 8, gap: 10_000}, `
			< CNP psn=0
			verdict congestion_notified
			counts rp_cnp_handled=1`, toyCongestion{window: 8, gap: 20_000, restarts: 1}},
		{"a queue pair that does not send has no use for a congestion notification",
			toyCongestion{window: 8, gap: 10_000}, `
			modify ERR
			< CNP psn=0
			verdict wrong_state`, toyCongestion{window: 8, gap: 10_000, restarts: 1}},
	} {
		t.Run(s.rule, func(t *testing.T) {
			toy := s.toy
			newScriptOf(t, qp.RC, with(&toy)).run(s.script)
			if toy.sentAt = 0; toy != s.want {
				t.Errorf("it ends as %+v, want %+v", toy, s.want)
			}
		})
	}
}

// The deadline of a packet that waits for NotBefore stays the same, however early or late Timeout
// is called.
func TestNotBeforeTimerExpiresOnTime(t *testing.T) {
	s := newScriptOf(t, qp.RC, func(_ *qp.Attr, c *Config) {
		c.Congestion = func() Congestion { return &toyCongestion{window: 8, gap: 10_000} }
	})
	s.run(`
		post write id=1 len=0
		> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack
		post write id=2 len=0`)
	due, ok := s.rc.NextTimeout()
	if want := s.now + 10_000; !ok || due != want {
		t.Fatalf("the timer is due at %d (%v), want %d", due, ok, want)
	}
	s.rc.Timeout(due - 1)
	if at, _ := s.rc.NextTimeout(); at != due {
		t.Errorf("after a call that is too early it is due at %d, want %d", at, due)
	}
	s.rc.Timeout(due)
	if at, _ := s.rc.NextTimeout(); at == due {
		t.Error("after a call in time it is still due")
	}
}
