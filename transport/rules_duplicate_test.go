package transport

import "testing"

// IBA 9.7.5.1: a request whose PSN was executed before has lost its answer, or is an echo
// of the network. It is answered again and never executed again.
func TestResponderMeetsDuplicates(t *testing.T) {
	runScenarios(t, []scenario{
		{"a duplicate SEND or WRITE is acknowledged with the newest PSN and not executed (C9-105)", nil, `
			recv id=1 len=10
			recv id=2 len=10
			< SEND_ONLY psn=100 len=1 ack
			wc 1 SUCCESS RECV len=1
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=1 va=0x10000 dma=1 rkey=rw ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			< SEND_ONLY psn=100 len=1
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate READ that names other memory is dropped (9.7.5.1)", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=100 va=0x10008 dma=1 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4096 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=99 va=0x10000 dma=1 rkey=rw ack
			verdict unknown_duplicate`},
		{"any packet of a message is a duplicate, whether or not it asks for an ACK", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=600 rkey=rw
			< RDMA_WRITE_MIDDLE psn=101 len=256
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=600 rkey=rw
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=0
			< RDMA_WRITE_MIDDLE psn=101 len=256
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=0
			< RDMA_WRITE_LAST psn=102 len=88 ack
			verdict accepted
			> ACKNOWLEDGE psn=102 syn=ack msn=1`},
		{"duplicates that arrive together share one ACK", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0
			< RDMA_WRITE_ONLY psn=101 len=0
			<+ RDMA_WRITE_ONLY psn=100 len=0 ack
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate takes nothing away from a NAK that waits to be sent", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0
			<+ RDMA_WRITE_ONLY psn=102 len=0
			< RDMA_WRITE_ONLY psn=100 len=0
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=seq msn=1`},
		{"a duplicate with immediate takes no second receive", nil, `
			recv id=1 len=4
			recv id=2 len=4
			< SEND_ONLY_WITH_IMMEDIATE psn=100 len=4 imm=7 ack
			wc 1 SUCCESS RECV len=4 imm=7
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< SEND_ONLY_WITH_IMMEDIATE psn=100 len=4 imm=7 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY_WITH_IMMEDIATE psn=101 len=0 imm=8 ack
			wc 2 SUCCESS RECV_RDMA_WITH_IMM len=0 imm=8
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
	})
}

// C9-110: duplicates are answered in PSN order, and the one with the earlier PSN goes
// first, even before an answer that has begun.
func TestResponderAnswersDuplicatesInPSNOrder(t *testing.T) {
	twoReads := `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=2
	`
	runScenarios(t, []scenario{
		{"the later asked for first is answered last", nil, twoReads + `
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=512 rkey=rw ack
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=2`},
		{"an earlier one interrupts an answer that has begun", nil, twoReads + `
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=512 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=2`},
		{"a READ asked for again while it is answered starts over where the peer asks", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			send 3
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_REQUEST psn=101 va=0x10100 dma=768 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
		{"a READ asked for again from where its answer has not come yet changes nothing", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			< RDMA_READ_REQUEST psn=102 va=0x10200 dma=512 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
		{"the ACK for a duplicate WRITE comes after the READ answers before it", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			<+ RDMA_WRITE_ONLY psn=101 len=0 ack
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate READ whose memory is gone is a remote access error at its PSN; the connection stays", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0
			dereg rw
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=acc msn=2
			state RTS
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			> ACKNOWLEDGE psn=102 syn=ack msn=3`},
	})
}
