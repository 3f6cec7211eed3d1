package transport

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// IBA 9.7.5.2.8: a receiver that is not ready, at the requester.
func TestRequesterWaitsForReceiver(t *testing.T) {
	runScenarios(t, []scenario{
		{"an RNR NAK stops sending for the time of its code, then sending goes on there (9.7.5.2.8)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			verdict rnr_wait
			post send id=3 len=1
			advance 639999ns
			advance 1ns
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			> SEND_ONLY psn=102 len=1 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND
			wc 3 SUCCESS SEND`},
		{"a sequence NAK for what follows does not cut the wait short", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			< ACKNOWLEDGE psn=100 syn=seq
			< ACKNOWLEDGE psn=100 syn=rnr12
			advance 640us
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND`},
		{"after rnr_retry waits the request fails with RNR_RETRY_EXC_ERR (9.7.5.2.8)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			wc 1 RNR_RETRY_EXC_ERR
			state ERR`},
		{"rnr_retry 7 waits without limit (9.7.5.2.8)", func(a *qp.Attr, c *Config) { a.RNRRetry = 7 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr0
			advance 655360us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr31
			advance 491520us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"an RNR NAK acknowledges all before its PSN", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101 syn=rnr1
			wc 1 SUCCESS SEND
			advance 10us
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
		{"waiting costs nothing of retry_cnt, and no ACK timeout runs during the wait",
			func(a *qp.Attr, c *Config) { a.RetryCnt, a.RNRRetry = 0, 7 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr0
			advance 655360us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"after the wait the ACK timer runs again", func(a *qp.Attr, c *Config) { a.RetryCnt = 0 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			advance 67108863ns
			advance 1ns
			wc 1 RETRY_EXC_ERR
			state ERR`},
		{"progress makes the RNR budget whole again", retries(1), `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101 syn=rnr1
			wc 1 SUCCESS SEND
			advance 10us
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101 syn=rnr1
			wc 2 RNR_RETRY_EXC_ERR
			state ERR`},
		{"an RNR NAK for what was acknowledged since is dropped", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			< ACKNOWLEDGE psn=100 syn=rnr1
			verdict duplicate
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
		{"an RNR NAK inside a message repeats the message from there", nil, `
			post writeimm id=1 len=300 imm=7
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=300
			> RDMA_WRITE_LAST_WITH_IMMEDIATE psn=101 len=44 imm=7 ack
			< ACKNOWLEDGE psn=101 syn=rnr1
			advance 10us
			> RDMA_WRITE_LAST_WITH_IMMEDIATE psn=101 len=44 imm=7 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE`},
		{"an RNR NAK that passes a READ without its data is an implied NAK of the READ", nil, readOne + `
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101 syn=rnr1
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			> SEND_ONLY psn=101 len=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
	})
}

func TestRequesterWaitsAsLongAsTheCodeSays(t *testing.T) {
	for code := range uint8(32) {
		wait := bth.RNRDelay(code)
		t.Run(fmt.Sprintf("code %d is %d µs", code, wait/1000), func(t *testing.T) {
			newScript(t, nil).run(fmt.Sprintf(`
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr%d
			advance %dns
			advance 1ns
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`, code, wait-1))
		})
	}
}

// IBA 9.7.5.2.8: a receiver that is not ready, at the responder.
func TestResponderIsNotReady(t *testing.T) {
	runScenarios(t, []scenario{
		{"requests in flight behind an RNR NAK are dropped without another NAK", nil, `
			< SEND_ONLY psn=100 len=1 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			< SEND_ONLY psn=101 len=1 ack
			verdict out_of_sequence
			< SEND_ONLY psn=100 len=1 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0`},
		{"a WRITE with immediate is refused at the packet that needs the receive", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=300 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			< RDMA_WRITE_LAST_WITH_IMMEDIATE psn=101 len=44 imm=5 ack
			> ACKNOWLEDGE psn=101 syn=rnr12 msn=0
			recv id=1 len=0
			< RDMA_WRITE_LAST_WITH_IMMEDIATE psn=101 len=44 imm=5 ack
			wc 1 SUCCESS RECV_RDMA_WITH_IMM len=300 imm=5
			> ACKNOWLEDGE psn=101 syn=ack msn=1`},
		{"a READ or a WRITE behind an RNR NAK is not executed before its turn", nil, `
			< SEND_ONLY psn=100 len=1 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			verdict out_of_sequence
			recv id=1 len=1
			< SEND_ONLY psn=100 len=1
			wc 1 SUCCESS RECV len=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2`},
		{"the rest of a long SEND is dropped and the whole of it asked for", nil, `
			< SEND_FIRST psn=100 len=256
			verdict no_receive
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			< SEND_LAST psn=101 len=1 ack
			verdict out_of_sequence
			recv id=1 len=257
			< SEND_FIRST psn=100 len=256
			< SEND_LAST psn=101 len=1 ack
			wc 1 SUCCESS RECV len=257
			> ACKNOWLEDGE psn=101 syn=ack msn=1`},
		{"a WRITE without immediate needs no receive", nil, `
			< RDMA_WRITE_ONLY psn=100 len=1 va=0x10000 dma=1 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
	})
}
