package transport

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// progressText returns the text after "progress" in a script, without the values that are 0.
func progressText(p Progress) string {
	text := fmt.Sprintf("send=%d ack=%d recv=%d", p.SendPSN, p.AckPSN, p.RecvPSN)
	for _, f := range []struct {
		name  string
		value int
	}{{"window", int(p.Window)}, {"reads", p.Reads}, {"retries", int(p.Retries)}, {"rnr", int(p.RNRLeft)},
		{"early", p.Early}} {
		if f.value != 0 {
			text += fmt.Sprintf(" %s=%d", f.name, f.value)
		}
	}
	if p.RNRWait {
		text += " wait"
	}
	return text
}

func TestProgress(t *testing.T) {
	runScenarios(t, []scenario{
		{"of a connection that did nothing is where both ends start", nil, `
			progress send=100 ack=100 recv=100 window=16 retries=2 rnr=2`},
		{"counts what left and what was acknowledged, and what came", nil, `
			post write id=1 len=600
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=600
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_LAST psn=102 len=88 ack
			progress send=103 ack=100 recv=100 window=16 retries=2 rnr=2
			< ACKNOWLEDGE psn=101
			progress send=103 ack=102 recv=100 window=16 retries=2 rnr=2
			recv id=2 len=1
			< SEND_ONLY psn=100 len=1 ack
			wc 2 SUCCESS RECV len=1
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			progress send=103 ack=102 recv=101 window=16 retries=2 rnr=2
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"shows READs that wait, and retries that are used up", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			progress send=101 ack=100 recv=100 window=16 reads=1 retries=2 rnr=2
			advance 80ms
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			progress send=101 ack=100 recv=100 window=1 reads=1 retries=1 rnr=2`},
		{"shows a peer that asks for patience", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			progress send=101 ack=100 recv=100 window=16 retries=2 rnr=1 wait`},
		{"shows packets that are held until an earlier one comes", nil, `
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0
			progress send=100 ack=100 recv=100 window=16 retries=2 rnr=2 early=2
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			> ACKNOWLEDGE psn=102 syn=seq msn=2
			progress send=100 ack=100 recv=102 window=16 retries=2 rnr=2 early=1`},
		{"of a connection that failed is how far it had come", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			modify ERR
			wc 1 WR_FLUSH_ERR
			progress send=101 ack=100 recv=100 window=16 retries=2 rnr=2`},
	})
	t.Run("of a connection that has not come to RTS is where both ends are to start", func(t *testing.T) {
		s := newScript(t, nil)
		s.reconnectUpTo(qp.RTR)
		s.run("progress send=100 ack=100 recv=100")
	})
	runUC(t, []scenario{
		{"of an unreliable connection has nothing to be acknowledged", nil, `
			post send id=1 len=300
			> UC_SEND_FIRST psn=100 len=256
			> UC_SEND_LAST psn=101 len=44
			wc 1 SUCCESS SEND
			progress send=102 ack=102 recv=100`},
	})
}
