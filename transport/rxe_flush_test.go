package transport

import "testing"

func TestFlushGetsTheICRCThatItsPeerExpects(t *testing.T) {
	runScenarios(t, []scenario{
		{"a peer that does not set MigReq is Linux rxe", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 rxe
			wc 1 SUCCESS SEND
			post flush id=2 va=0x40000 n=4096 type=1
			> FLUSH psn=101 va=0x40000 dma=4096 type=1 level=0 ack rxeicrc
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0 rxe
			wc 2 SUCCESS FLUSH`},
		{"a peer that sets it is not", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			post flush id=2 va=0x40000 n=4096 type=1
			> FLUSH psn=101 va=0x40000 dma=4096 type=1 level=0 ack
			advance 67108864ns
			> FLUSH psn=101 va=0x40000 dma=4096 type=1 level=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0
			wc 2 SUCCESS FLUSH`},
		{"one that has not been heard of gets both, retry by retry", nil, `
			post flush id=1 va=0x40000 n=4096 type=1
			> FLUSH psn=100 va=0x40000 dma=4096 type=1 level=0 ack
			advance 67108864ns
			> FLUSH psn=100 va=0x40000 dma=4096 type=1 level=0 ack rxeicrc
			advance 67108864ns
			> FLUSH psn=100 va=0x40000 dma=4096 type=1 level=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS FLUSH`},
	})
}

func TestFlushThatRxeRepeatsHasAddress0(t *testing.T) {
	runScenarios(t, []scenario{
		{"it is answered again", flushable, `
			< FLUSH psn=100 va=0x300000 dma=64 rkey=bindable type=1 rxe
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			< FLUSH psn=100 va=0 dma=64 rkey=bindable type=1 rxe
			verdict duplicate
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1`},
		{"where the first was lost it flushes the region", flushable, `
			< FLUSH psn=100 va=0 dma=64 rkey=bindable type=1 rxe
			verdict accepted
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1`},
		{"from others address 0 is an address", flushable, `
			< FLUSH psn=100 va=0 dma=64 rkey=bindable type=1
			verdict access_refused
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			state ERR`},
	})
}

func TestAtomicWriteThatRxeRepeatsHasAddress0(t *testing.T) {
	runScenarios(t, []scenario{{"it is answered again and not executed", nil, `
		< ATOMIC_WRITE psn=100 len=8 va=0x10008 dma=8 rkey=rw ack rxe
		> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
		< ATOMIC_WRITE psn=100 len=8 va=0 dma=8 rkey=rw ack rxe
		verdict duplicate
		> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1`}})
}
