package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

func TestSendQueueDrained(t *testing.T) {
	runRC(t, []scenario{
		{"in SQD started work goes on and no other begins (10.3.1.5)", nil, `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			modify SQD notify
			post send id=2 len=4
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			event SQ_DRAINED
			modify RTS
			> SEND_ONLY psn=101 len=4 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
		{"nobody is told who did not ask", nil, `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			modify SQD
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"a send queue with nothing started is drained at once", nil, `
			modify SQD notify
			event SQ_DRAINED
			modify timeout=20
			modify RTS
			modify SQD notify
			event SQ_DRAINED`},
		{"started work is repeated in SQD until it is done", nil, `
			post send id=1 len=300
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=44 ack
			post read id=2 len=10
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=10 ack
			modify SQD notify
			< ACKNOWLEDGE psn=101 syn=seq rxe
			> SEND_LAST psn=101 len=44 ack
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=10 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			advance 70ms
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=10 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=10
			wc 2 SUCCESS RDMA_READ
			event SQ_DRAINED`},
		{"the responder goes on in SQD", nil, `
			modify SQD
			recv id=1 len=4
			< SEND_ONLY psn=100 len=4 ack
			wc 1 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"who fails in SQD is not drained", nil, `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			modify SQD notify
			< ACKNOWLEDGE psn=100 syn=acc
			wc 1 REM_ACCESS_ERR
			state ERR`},
		{"the way out by ERR flushes started and other work", nil, `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			modify SQD notify
			post send id=2 len=4
			modify ERR
			wc 1 WR_FLUSH_ERR
			wc 2 WR_FLUSH_ERR`},
	})
}

func TestAttributesChangedInSQDHold(t *testing.T) {
	runRC(t, []scenario{
		{"a longer ACK timeout", nil, `
			modify SQD
			modify timeout=15
			modify RTS
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			advance 134ms
			advance 1ms
			> SEND_ONLY psn=100 len=4 ack`},
		{"another retry count", nil, `
			modify SQD
			modify retry=0
			modify RTS
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			advance 68ms
			wc 1 RETRY_EXC_ERR`},
		{"another RNR retry count", nil, `
			modify SQD
			modify rnr-retry=0
			modify RTS
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			wc 1 RNR_RETRY_EXC_ERR`},
		{"fewer READs outstanding", nil, `
			modify SQD
			modify rd-atomic=1
			modify RTS
			post read id=1 len=4
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=4 ack
			post read id=2 len=4
			< RDMA_READ_RESPONSE_ONLY psn=100 len=4
			wc 1 SUCCESS RDMA_READ
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=4 ack`},
		{"more responder resources: those in use stay", nil, `
			< FETCH_ADD psn=100 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< FETCH_ADD psn=101 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=5
			modify SQD
			modify dest-rd-atomic=4
			< FETCH_ADD psn=102 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=3 value=10
			< FETCH_ADD psn=100 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0`},
		{"fewer responder resources: the newest stay, and nothing is executed twice", nil, `
			< FETCH_ADD psn=100 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< FETCH_ADD psn=101 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=5
			modify SQD
			modify dest-rd-atomic=1
			< FETCH_ADD psn=100 va=0x10000 rkey=rw add=5
			verdict unknown_duplicate
			< FETCH_ADD psn=101 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=5
			< FETCH_ADD psn=102 va=0x10000 rkey=rw add=5
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=3 value=10`},
		{"a READ that is being answered when the resources become more goes on", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw
			modify SQD
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=44 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=4 rkey=rw
			<+ RDMA_READ_REQUEST psn=103 va=0x10000 dma=5 rkey=rw
			modify dest-rd-atomic=8
			> RDMA_READ_RESPONSE_ONLY psn=102 len=4 syn=ack msn=2
			> RDMA_READ_RESPONSE_ONLY psn=103 len=5 syn=ack msn=3`},
		{"a READ that comes again when the resources became more is still answered once", nil, `
			modify SQD
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=4 rkey=rw
			modify+ dest-rd-atomic=4
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=4 rkey=rw
			verdict duplicate
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw
			verdict duplicate
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=44 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=102 len=4 syn=ack msn=2`},
		{"a READ whose answer is on its way keeps its place when the resources become fewer", nil, `
			modify SQD
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw
			modify+ dest-rd-atomic=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=4 rkey=rw
			verdict invalid_request
			event QP_REQ_ERR
			> RDMA_READ_RESPONSE_ONLY psn=100 len=4 syn=ack msn=1
			> ACKNOWLEDGE psn=101 syn=inv msn=1`},
		{"of more answers than the resources that are left only the newest leave", nil, `
			modify SQD
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw
			<+ RDMA_READ_REQUEST psn=101 va=0x10000 dma=5 rkey=rw
			modify dest-rd-atomic=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=5 syn=ack msn=2`},
		{"no responder resources: READs are refused", nil, `
			modify SQD
			modify dest-rd-atomic=0
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw
			verdict invalid_request
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=100 syn=inv msn=0`},
	})
}

func TestUnreliableSendQueueFails(t *testing.T) {
	runUC(t, []scenario{
		{"SQE flushes sends and goes on receiving; RTS recovers (10.3.1.6)", nil, `
			post send id=1 len=4
			> UC_SEND_ONLY psn=100 len=4
			wc 1 SUCCESS SEND
			post send id=2 len=4 badkey
			wc 2 LOC_PROT_ERR
			state SQE
			recv id=3 len=4
			< UC_SEND_ONLY psn=100 len=4
			wc 3 SUCCESS RECV len=4
			post send id=4 len=4
			wc 4 WR_FLUSH_ERR
			modify RTS
			post send id=5 len=4
			> UC_SEND_ONLY psn=101 len=4
			wc 5 SUCCESS SEND`},
		{"the way from SQE to ERR flushes the receives too", nil, `
			recv id=1 len=4
			post send id=2 len=4 badkey
			wc 2 LOC_PROT_ERR
			modify ERR
			wc 1 WR_FLUSH_ERR`},
		{"a bad receive is no affair of the send queue: ERR", nil, `
			recv id=1 len=4 badkey
			< UC_SEND_ONLY psn=100 len=4
			wc 1 LOC_PROT_ERR
			state ERR`},
		{"in SQD nothing begins; RTS goes on", nil, `
			modify SQD notify
			event SQ_DRAINED
			post send id=1 len=300
			modify RTS
			> UC_SEND_FIRST psn=100 len=256
			> UC_SEND_LAST psn=101 len=44
			wc 1 SUCCESS SEND`},
	})
}

func TestERRKeepsOnlyTheErrorNAK(t *testing.T) {
	runRC(t, []scenario{
		{"the peer learns of its error also when ERR came between", nil, `
			<+ RDMA_WRITE_ONLY psn=100 len=4 va=0x200000 dma=4 rkey=ro
			modify ERR
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0`},
		{"an ACK that was not sent is not sent any more", nil, `
			<+ RDMA_WRITE_ONLY psn=100 len=0 ack
			modify ERR`},
		{"nor is the answer of a READ", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw
			modify ERR`},
	})
}

func TestNoTimerRunsWhenThereIsNothingToWaitFor(t *testing.T) {
	for rule, script := range map[string]string{
		"before the first request": ``,
		"when all is acknowledged": `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`,
		"after an error": `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			< ACKNOWLEDGE psn=100 syn=acc
			wc 1 REM_ACCESS_ERR`,
		"after the last retry": `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=4 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=4 ack
			advance 67108864ns
			wc 1 RETRY_EXC_ERR`,
		"when ERR ends the wait for a receiver": `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			modify ERR
			wc 1 WR_FLUSH_ERR`,
	} {
		t.Run(rule, func(t *testing.T) {
			s := newScript(t, nil)
			s.run(script)
			if at, ok := s.rc.NextTimeout(); ok {
				t.Errorf("a timer runs until %d", at)
			}
		})
	}
}

// After RESET the requester counts from 0 and the send queue continues its numbers. The
// difference must not look like a request to send, for which Transmit would reserve room.
func TestAnswersHaveAllTheRoomBeforeRTS(t *testing.T) {
	s := newScript(t, nil)
	s.run(`
		post send id=1 len=4
		> SEND_ONLY psn=100 len=4 ack
		< ACKNOWLEDGE psn=100
		wc 1 SUCCESS SEND`)
	s.reconnectUpTo(qp.RTR)
	s.run(`
		<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
		event COMM_EST
		send 4 done
		> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
		> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
		> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
		> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`)
}

func TestAsynchronousEvents(t *testing.T) {
	rtr := func(s *script) { s.reconnectUpTo(qp.RTR) }
	t.Run("the first request in RTR establishes the communication, once", func(t *testing.T) {
		for _, service := range []qp.Type{qp.RC, qp.UC} {
			s := newScriptOf(t, service, nil)
			rtr(s)
			prefix := map[qp.Type]string{qp.RC: "", qp.UC: "UC_"}[service]
			s.run(`
				< ` + prefix + `RDMA_WRITE_ONLY psn=100 va=0x10000 dma=4 len=4 rkey=rw
				event COMM_EST
				< ` + prefix + `RDMA_WRITE_ONLY psn=101 va=0x10000 dma=4 len=4 rkey=rw`)
			rtr(s)
			s.run(`
				< ` + prefix + `RDMA_WRITE_ONLY psn=100 va=0x10000 dma=4 len=4 rkey=rw
				event COMM_EST`)
		}
	})
	t.Run("a left-over of an older connection does not", func(t *testing.T) {
		s := newScript(t, nil)
		rtr(s)
		s.run(`
			< RDMA_WRITE_ONLY psn=99 va=0x10000 dma=4 len=4 rkey=rw
			> ACKNOWLEDGE psn=99 syn=ack msn=0
			< RDMA_WRITE_ONLY psn=105 va=0x10000 dma=4 len=4 rkey=rw
			> ACKNOWLEDGE psn=100 syn=seq msn=0`)
	})
	runRC(t, []scenario{
		{"in RTS nobody has to be told of the communication", nil, `
			< RDMA_WRITE_ONLY psn=100 va=0x10000 dma=4 len=4 rkey=rw`},
		{"a peer that reaches for what it may not: QP_ACCESS_ERR", nil, `
			< RDMA_WRITE_ONLY psn=100 va=0x200000 dma=4 len=4 rkey=ro
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			state ERR`},
		{"a request that is not valid: QP_REQ_ERR", nil, `
			srq depth=4
			< SEND_LAST psn=100 len=4
			event QP_REQ_ERR
			event QP_LAST_WQE_REACHED
			> ACKNOWLEDGE psn=100 syn=inv msn=0`},
		{"memory that went away under a READ answer: QP_ACCESS_ERR", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw
			dereg rw
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=1`},
		{"an error that a completion tells needs no event", nil, `
			recv id=1 len=4
			< SEND_ONLY psn=100 len=5
			wc 1 LOC_LEN_ERR
			> ACKNOWLEDGE psn=100 syn=inv msn=0
			state ERR`},
		{"nor does a requester's", nil, `
			post send id=1 len=4 badkey
			wc 1 LOC_PROT_ERR
			state ERR`},
	})
}
