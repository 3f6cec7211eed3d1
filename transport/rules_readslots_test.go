package transport

import "testing"

// IBA 9.4.4 and 9.4.5: the limit of outstanding READs and atomics, here 2, holds despite
// retransmissions and late responses.
func TestOutstandingReadsAreCountedOnce(t *testing.T) {
	const third = `
			post read id=11 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			post read id=12 len=1
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=1 ack
			post read id=13 len=1`
	runScenarios(t, []scenario{
		{"a SEND that is acknowledged frees no place of a READ", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			post read id=3 len=1
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=1 ack
			post read id=4 len=1
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			wc 2 SUCCESS RDMA_READ
			> RDMA_READ_REQUEST psn=103 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=1
			wc 3 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=103 len=1
			wc 4 SUCCESS RDMA_READ`},
		{"the first part of an answer frees none either", nil, `
			post read id=1 len=257
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=257 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=1 ack
			post read id=3 len=1
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_LAST psn=101 len=1
			wc 1 SUCCESS RDMA_READ
			> RDMA_READ_REQUEST psn=103 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=1
			wc 2 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=103 len=1
			wc 3 SUCCESS RDMA_READ`},
		{"an ATOMIC WRITE frees its place when it is acknowledged", nil, `
			post atomwrite id=1 len=8
			> ATOMIC_WRITE psn=100 len=8 va=0x40000 dma=8 ack
			post atomwrite id=2 len=8
			> ATOMIC_WRITE psn=101 len=8 va=0x40000 dma=8 ack
			post read id=3 len=1
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS ATOMIC_WRITE
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=1 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS ATOMIC_WRITE
			< RDMA_READ_RESPONSE_ONLY psn=102 len=1
			wc 3 SUCCESS RDMA_READ`},
		{"the answer of a READ that comes after going back frees no other place", nil, readOne + `
			<+ ACKNOWLEDGE psn=100 syn=seq rxe
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ` + third},
		{"nor does that of an atomic", nil, `
			post faa id=1 len=8 add=1
			> FETCH_ADD psn=100 va=0x40000 add=1 cmp=0 ack
			<+ ACKNOWLEDGE psn=100 syn=seq rxe
			< ATOMIC_ACKNOWLEDGE psn=100
			wc 1 SUCCESS FETCH_ADD` + third},
		{"nor that of an ATOMIC WRITE", nil, `
			post atomwrite id=1 len=8
			> ATOMIC_WRITE psn=100 len=8 va=0x40000 dma=8 ack
			<+ ACKNOWLEDGE psn=100 syn=seq rxe
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS ATOMIC_WRITE` + third},
		{"a NAK for what is about to be repeated costs nothing", retries(1), `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			<+ ACKNOWLEDGE psn=100 syn=seq rxe
			<+ ACKNOWLEDGE psn=100 syn=rnr1
			verdict rnr_wait
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
	})
}
