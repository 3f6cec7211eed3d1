package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// IBA 9.7.1 and 9.7.2: a PSN has 24 bits. The 2^23 PSNs before the expected one are duplicates;
// all others are ahead.
func TestResponderSortsRequestsByPSN(t *testing.T) {
	runScenarios(t, []scenario{
		{"the expected PSN is executed and makes the next one expected (9.7.2)", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			verdict accepted
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			verdict accepted
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a gap is reported once, with the expected PSN, until that PSN arrives (9.7.5.2)", nil, `
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			verdict out_of_sequence
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0 ack
			< RDMA_WRITE_ONLY psn=100 len=0
			> ACKNOWLEDGE psn=101 syn=seq msn=1
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=103 syn=ack msn=4`},
		{"of Linux rxe, which repeats everything, nothing is kept", nil, `
			< RDMA_WRITE_ONLY psn=102 len=0 ack rxe
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0 ack rxe
			< RDMA_WRITE_ONLY psn=100 len=0 rxe
			< RDMA_WRITE_ONLY psn=102 len=0 ack rxe
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			> ACKNOWLEDGE psn=101 syn=seq msn=1
			< RDMA_WRITE_ONLY psn=101 len=0 ack rxe
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			counts sent_seq_err=2 out_of_seq_request=3`},
		{"2^23 - 1 ahead is a gap, 2^23 ahead is a duplicate", nil, `
			< RDMA_WRITE_ONLY psn=8388707 len=0 ack
			verdict out_of_sequence
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=8388708 len=0 ack
			verdict duplicate
			> ACKNOWLEDGE psn=99 syn=ack msn=0`},
		{"what came before the first PSN of the connection is a duplicate and not executed", nil, `
			< RDMA_WRITE_ONLY psn=99 len=4 va=0x10000 dma=4 rkey=rw
			verdict duplicate
			> ACKNOWLEDGE psn=99 syn=ack msn=0
			< RDMA_READ_REQUEST psn=99 va=0x10000 dma=4 rkey=rw ack
			verdict unknown_duplicate`},
		{"a packet ahead is not looked at, however wrong it is", nil, `
			< RDMA_WRITE_ONLY psn=101 len=4 va=0x10000 dma=8 rkey=0x77 ack
			verdict out_of_sequence
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			state RTS`},
		{"a READ takes as many PSNs as its answer has packets (9.7.1)", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=257 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=1 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			> ACKNOWLEDGE psn=102 syn=ack msn=2`},
		{"PSN 0 follows 2^24 - 1 (9.7.1)", func(a *qp.Attr, c *Config) { a.RQPSN = 0xffffff }, `
			< RDMA_WRITE_ONLY psn=0 len=0 ack
			verdict out_of_sequence
			> ACKNOWLEDGE psn=16777215 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=16777215 len=0 ack
			> ACKNOWLEDGE psn=0 syn=ack msn=2
			< RDMA_WRITE_ONLY psn=16777215 len=0
			verdict duplicate
			> ACKNOWLEDGE psn=0 syn=ack msn=2`},
	})
}

// IBA 9.7.7: the MSN counts completed messages, modulo 2^24; a READ counts when it is executed
// (C9-148).
func TestResponderCountsMessages(t *testing.T) {
	runScenarios(t, []scenario{
		{"packets inside a message do not count", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=600 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			< RDMA_WRITE_MIDDLE psn=101 len=256 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=0
			< RDMA_WRITE_LAST psn=102 len=88 ack
			> ACKNOWLEDGE psn=102 syn=ack msn=1`},
		{"a READ and an atomic count once, all packets of the answer carry the count (C9-148)", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=257 rkey=rw ack
			< FETCH_ADD psn=102 va=0x10000 add=1 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=1 syn=ack msn=1
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=2 value=0`},
		{"a NAK carries the count of what was executed before it", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0
			< RDMA_WRITE_ONLY psn=102 len=0
			> ACKNOWLEDGE psn=101 syn=seq msn=1`},
	})
	t.Run("0 follows 2^24 - 1", func(t *testing.T) {
		for _, packet := range []string{
			"RDMA_WRITE_ONLY psn=100 len=0 ack\n> ACKNOWLEDGE psn=100 syn=ack msn=0",
			"RDMA_READ_REQUEST psn=100 dma=0 ack\n> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=0",
			"FETCH_ADD psn=100 va=0x10000 add=1 rkey=rw ack\n> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=0 value=0",
		} {
			s := newScript(t, nil)
			s.rc.(*RC).rsp.msn = 0xffffff
			s.run("< " + packet)
		}
	})
}

// IBA 9.7.5.1.2 at the requester: the meaning of the PSN of a response.
func TestRequesterSortsResponsesByPSN(t *testing.T) {
	three := `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			post send id=3 len=1
			> SEND_ONLY psn=102 len=1 ack
	`
	runScenarios(t, []scenario{
		{"an ACK stands for all requests up to its PSN (9.7.5.1.2)", nil, three + `
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND
			< ACKNOWLEDGE psn=102
			wc 3 SUCCESS SEND`},
		{"an ACK from the middle of a message acknowledges its packets, not the message", nil, `
			post write id=1 len=700
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=700
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_LAST psn=102 len=188 ack
			< ACKNOWLEDGE psn=101
			verdict accepted
			advance 67108864ns
			> RDMA_WRITE_LAST psn=102 len=188 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"an ACK seen before is dropped", nil, three + `
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND
			< ACKNOWLEDGE psn=100
			verdict duplicate
			< ACKNOWLEDGE psn=101
			verdict duplicate
			< ACKNOWLEDGE psn=100 syn=seq
			verdict duplicate
			< ACKNOWLEDGE psn=101 syn=acc
			verdict duplicate
			< ACKNOWLEDGE psn=102
			wc 3 SUCCESS SEND`},
		{"an ACK of what was never sent is a ghost and changes nothing (9.7.5.1.2)", nil, three + `
			< ACKNOWLEDGE psn=103
			verdict ghost_response
			< ACKNOWLEDGE psn=8388707
			verdict ghost_response
			< ACKNOWLEDGE psn=103 syn=inv
			verdict ghost_response
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND
			wc 3 SUCCESS SEND`},
		{"an acknowledgement that was overtaken by going back still counts", nil, three + `
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND
			wc 3 SUCCESS SEND
			< ACKNOWLEDGE psn=102
			verdict duplicate`},
		{"PSNs wrap at 2^24 inside a message (9.7.1)", func(a *qp.Attr, c *Config) { a.SQPSN = 0xffffff }, `
			post send id=1 len=257
			> SEND_FIRST psn=16777215 len=256
			> SEND_LAST psn=0 len=1 ack
			post read id=2 len=257
			> RDMA_READ_REQUEST psn=1 va=0x40000 dma=257 ack
			< ACKNOWLEDGE psn=0
			wc 1 SUCCESS SEND
			< RDMA_READ_RESPONSE_FIRST psn=1 len=256
			< RDMA_READ_RESPONSE_LAST psn=2 len=1
			wc 2 SUCCESS RDMA_READ`},
	})
}

// Linux rxe ignores a second sequence NAK unless something was acknowledged since the first.
func TestACKBeforeSecondSequenceNAKToRxe(t *testing.T) {
	asked := `
			< RDMA_WRITE_FIRST psn=101 len=256 va=0x10000 dma=1024 rkey=rw rxe
			> ACKNOWLEDGE psn=100 syn=seq msn=0
	`
	runScenarios(t, []scenario{
		{"what came since the first NAK, in the same message", nil, asked + `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=1024 rkey=rw rxe
			< RDMA_WRITE_MIDDLE psn=102 len=256 rxe
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			> ACKNOWLEDGE psn=101 syn=seq msn=0
			< RDMA_WRITE_MIDDLE psn=101 len=256 rxe
			< RDMA_WRITE_LAST psn=103 len=256 ack rxe
			> ACKNOWLEDGE psn=101 syn=ack msn=0
			> ACKNOWLEDGE psn=102 syn=seq msn=0`},
		{"and not once more what was acknowledged", nil, asked + `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=1024 rkey=rw ack rxe
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			< RDMA_WRITE_MIDDLE psn=102 len=256 rxe
			> ACKNOWLEDGE psn=101 syn=seq msn=0`},
		{"both at once where there is room for both", nil, asked + `
			<+ RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=1024 rkey=rw rxe
			<+ RDMA_WRITE_MIDDLE psn=102 len=256 rxe
			send 2 done
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			> ACKNOWLEDGE psn=101 syn=seq msn=0`},
		{"if there is room for one of them, the NAK follows", nil, asked + `
			<+ RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=1024 rkey=rw rxe
			<+ RDMA_WRITE_MIDDLE psn=102 len=256 rxe
			send 1 more
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			send 1 done
			> ACKNOWLEDGE psn=101 syn=seq msn=0`},
		{"but not the PSNs of a READ, which its responses acknowledge", nil, asked + `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw rxe
			<+ SEND_ONLY psn=102 len=1 rxe
			send 9 done
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			> ACKNOWLEDGE psn=101 syn=seq msn=1`},
		{"others have no need of it", nil, `
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			<+ RDMA_WRITE_ONLY psn=100 len=0
			<+ RDMA_WRITE_ONLY psn=103 len=0
			send 9 done
			> ACKNOWLEDGE psn=102 syn=seq msn=2`},
	})
}
