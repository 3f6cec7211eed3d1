package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

func runRC(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		t.Run(s.rule, func(t *testing.T) { newScriptOf(t, qp.RC, s.adjust).run(s.script) })
	}
}

func TestReceivesFromASharedQueue(t *testing.T) {
	runRC(t, []scenario{
		{"a message takes the oldest receive of the SRQ", nil, `
			srq depth=8
			recv id=1 len=10
			recv id=2 len=10
			< SEND_ONLY psn=100 len=4 ack
			wc 1 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			recv-len 1`},
		{"an empty SRQ is a receiver that is not ready, and a post needs no word to the machine", nil, `
			srq depth=8
			< SEND_ONLY psn=100 len=4 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			recv id=1 len=10
			< SEND_ONLY psn=100 len=4 ack
			wc 1 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"the limit event comes when fewer receives than the limit are left, once", nil, `
			srq depth=8 limit=2
			recv id=1 len=10
			recv id=2 len=10
			recv id=3 len=10
			< SEND_ONLY psn=100 len=4
			wc 1 SUCCESS RECV len=4
			< SEND_ONLY psn=101 len=4
			event SRQ_LIMIT_REACHED
			wc 2 SUCCESS RECV len=4
			< SEND_ONLY psn=102 len=4
			wc 3 SUCCESS RECV len=4`},
		{"in ERR only the receive that was taken is flushed; the others stay in the SRQ", nil, `
			srq depth=8
			recv id=1 len=1000
			recv id=2 len=1000
			post send id=9 len=4
			> SEND_ONLY psn=100 len=4 ack
			< SEND_FIRST psn=100 len=256
			modify ERR
			wc 9 WR_FLUSH_ERR
			wc 1 WR_FLUSH_ERR
			event QP_LAST_WQE_REACHED
			recv-len 1
			recv id=3 len=4
			post send id=10 len=4
			wc 10 WR_FLUSH_ERR
			recv-len 2`},
		{"a queue pair that took nothing tells so in ERR", nil, `
			srq depth=8
			modify ERR
			event QP_LAST_WQE_REACHED
			modify ERR`},
		{"RESET tells nothing, and the next life can tell again", nil, `
			srq depth=8
			modify ERR
			event QP_LAST_WQE_REACHED
			modify RESET
			modify ERR
			event QP_LAST_WQE_REACHED`},
	})
}
