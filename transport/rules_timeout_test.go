package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// IBA 9.7.6.1.3, C9-140: no response within 4.096 µs × 2^timeout.
func TestRequesterTimesOut(t *testing.T) {
	twoPackets := `
			post send id=1 len=512
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
	`
	runScenarios(t, []scenario{
		{"after retry_cnt timeouts without progress the request fails with RETRY_EXC_ERR (9.7.6.1.3)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 67108863ns
			advance 1ns
			> SEND_ONLY psn=100 len=1 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"progress makes the retry budget whole again", nil, twoPackets + `
			advance 134217728ns
			> SEND_FIRST psn=100 len=256 ack
			> SEND_FIRST psn=100 len=256 ack
			< ACKNOWLEDGE psn=100
			> SEND_LAST psn=101 len=256 ack
			advance 134217728ns
			> SEND_LAST psn=101 len=256 ack
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"timeouts without progress grow apart, to four times at most (9.7.6.1.3)",
			func(a *qp.Attr, c *Config) { c.BackoffLimit = 4; a.RetryCnt = 7 }, `
			post send id=1
			> SEND_ONLY psn=100 len=0 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=0 ack
			advance 134217727ns
			advance 1ns
			> SEND_ONLY psn=100 len=0 ack
			advance 268435455ns
			advance 1ns
			> SEND_ONLY psn=100 len=0 ack
			advance 268435456ns
			> SEND_ONLY psn=100 len=0 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"timeout 0 waits for ever (9.7.6.1.3)", func(a *qp.Attr, c *Config) { a.Timeout = 0 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 1000h
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"the timer starts with the first packet that is outstanding, not with the last (9.7.6.1.3)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 60ms
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			advance 7108863ns
			advance 1ns
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND`},
		{"going back for a NAK starts the timer anew, so that one loss costs one retry",
			func(a *qp.Attr, _ *Config) { a.RetryCnt = 1 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			advance 67108863ns
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			advance 67108863ns
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND`},
		{"an ACK starts the timer anew for what is still outstanding", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			advance 60ms
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			advance 67108863ns
			advance 1ns
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
		{"each packet of a READ's answer starts the timer anew", nil, `
			post read id=1 len=512
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=512 ack
			advance 60ms
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			advance 60ms
			< RDMA_READ_RESPONSE_LAST psn=101 len=256
			wc 1 SUCCESS RDMA_READ
			advance 1000h`},
		{"nothing outstanding, nothing to wait for", nil, `
			advance 1000h
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			advance 1000h`},
		{"a NAK after a timeout is acted on, also when one was acted on before it",
			func(a *qp.Attr, _ *Config) { a.RetryCnt = 7 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_ONLY psn=100 len=1 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"a NAK that crosses the repetition after a timeout spends no retry: both may tell of one loss", retries(1), `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			progress send=101 ack=100 recv=100 window=1 rnr=1
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			state ERR`},
		{"nor does an implied NAK", retries(1), readOne + `
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			advance 67108864ns
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			< ACKNOWLEDGE psn=101
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			< ACKNOWLEDGE psn=101
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"after progress a NAK spends one again", retries(1), `
			post send id=1 len=512
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
			advance 67108864ns
			> SEND_FIRST psn=100 len=256 ack
			< ACKNOWLEDGE psn=100
			> SEND_LAST psn=101 len=256 ack
			progress send=102 ack=101 recv=100 window=2 retries=1 rnr=1
			< ACKNOWLEDGE psn=101 syn=seq rxe
			> SEND_LAST psn=101 len=256 ack
			progress send=102 ack=101 recv=100 window=2 rnr=1`},
		{"retry_cnt 0 fails at the first NAK", retries(0), `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			wc 1 RETRY_EXC_ERR
			state ERR`},
		{"retry_cnt 0 fails at the first timeout", func(a *qp.Attr, c *Config) { a.RetryCnt = 0 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			state ERR`},
	})
}

func TestTimeoutMayBeCalledEarlyAndLate(t *testing.T) {
	for rule, script := range map[string]string{
		"the ACK timer": `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack`,
		"the RNR timer": `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12`,
	} {
		t.Run(rule, func(t *testing.T) {
			s := newScript(t, nil)
			s.run(script)
			at, ok := s.rc.NextTimeout()
			if !ok {
				t.Fatal("no timer runs")
			}
			s.rc.Timeout(at - 1)
			s.run("send 64 done")
			s.rc.Timeout(at + 1)
			s.run(`
				send 64 done
				> SEND_ONLY psn=100 len=1 ack`)
		})
	}
}

func TestAckTimeoutOfEveryCode(t *testing.T) {
	for code := range uint8(32) {
		want := Time(0)
		if code > 0 {
			want = 4096 << code
		}
		if got := AckTimeout(code); got != want {
			t.Errorf("AckTimeout(%d) = %d ns, want %d", code, got, want)
		}
	}
}
