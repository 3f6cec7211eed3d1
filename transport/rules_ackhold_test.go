package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// An acknowledgement may be sent behind requests, because the IBA orders responses only among
// themselves. To hold it is a choice of this package.
func TestHeldACKFollowsRequests(t *testing.T) {
	runScenarios(t, []scenario{
		{"behind the request that was posted meanwhile", nil, `
			recv id=7 len=4
			<+ SEND_ONLY psn=100 len=4 ack
			wc 7 SUCCESS RECV len=4
			hold
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"alone where nothing was posted", nil, `
			recv id=7 len=4
			<+ SEND_ONLY psn=100 len=4 ack
			wc 7 SUCCESS RECV len=4
			hold
			send 64 done
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"a later message is covered by it", nil, `
			recv id=7 len=4
			recv id=8 len=4
			<+ SEND_ONLY psn=100 len=4 ack
			wc 7 SUCCESS RECV len=4
			hold
			<+ SEND_ONLY psn=101 len=4 ack
			wc 8 SUCCESS RECV len=4
			hold
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"a READ that came meanwhile is answered at once, and before requests", nil, `
			recv id=7 len=4
			<+ SEND_ONLY psn=100 len=4 ack
			wc 7 SUCCESS RECV len=4
			hold
			< RDMA_READ_REQUEST psn=101 rkey=rw va=0x10000 dma=4 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=2
			> RDMA_READ_RESPONSE_ONLY psn=101 len=4 syn=ack msn=2`},
		{"a NAK is not held", nil, `
			recv id=7 len=4
			<+ SEND_ONLY psn=100 len=4 ack
			wc 7 SUCCESS RECV len=4
			hold
			< SEND_ONLY psn=102 len=4 ack
			> ACKNOWLEDGE psn=101 syn=seq msn=1`},
	})
}

func TestWhatIsNotHeld(t *testing.T) {
	for name, text := range map[string]string{
		"nothing is owed":                   "",
		"an RNR NAK":                        "<+ SEND_ONLY psn=100 len=4 ack",
		"a sequence NAK":                    "<+ SEND_ONLY psn=101 len=4 ack",
		"an ACK of a WRITE":                 "<+ RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack",
		"a READ response":                   "<+ RDMA_READ_REQUEST psn=100 rkey=rw va=0x10000 dma=4 ack",
		"an ACK to Linux rxe":               "recv id=7 len=4\n<+ SEND_ONLY psn=100 len=4 ack rxe\nwc 7 SUCCESS RECV len=4",
		"an ACK in the middle of a message": "recv id=7 len=999\n<+ SEND_FIRST psn=100 len=256 ack",
	} {
		s := newScript(t, func(a *qp.Attr, c *Config) {})
		s.run(text)
		if s.rc.(*RC).HoldACK() {
			t.Errorf("%s: there is an ACK to be held", name)
		}
	}
}
