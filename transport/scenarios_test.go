package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// The error cases that testers of RoCE endpoints have in common (datenlord/roce-sim,
// lumina-test/lumina), under their names there. [TestGoBackN] checks the packets that are sent.

func retries(n uint8) func(*qp.Attr, *Config) {
	return func(a *qp.Attr, c *Config) { a.RetryCnt, a.RNRRetry = n, n }
}

const readOne = `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
`

func TestKnownScenariosOfTheRequester(t *testing.T) {
	runScenarios(t, []scenario{
		{"ghost ACK", retries(0), readOne + `
			< ACKNOWLEDGE psn=101
			verdict ghost_response
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			verdict ghost_response
			< ATOMIC_ACKNOWLEDGE psn=101
			verdict ghost_response
			state RTS
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			state ERR`},
		{"bad response: MIDDLE where the READ must end", nil, `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=103 len=256
			verdict bad_response
			wc 1 BAD_RESP_ERR
			state ERR`},
		{"bad response: LAST where the READ goes on", nil, `
			post read id=1 len=768
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=768 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_LAST psn=101 len=256
			verdict bad_response
			wc 1 BAD_RESP_ERR
			state ERR`},
		{"implied NAK, retry not exceeded", retries(1), readOne + `
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			verdict out_of_sequence
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
		{"implied NAK, retry exceeded", retries(0), readOne + `
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			verdict out_of_sequence
			wc 1 RETRY_EXC_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"implied NAK of an atomic, retry exceeded", retries(0), `
			post faa id=1 len=8 add=1
			> FETCH_ADD psn=100 va=0x40000 add=1 cmp=0 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			verdict out_of_sequence
			wc 1 RETRY_EXC_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"local ACK timeout, retry not exceeded", retries(1), readOne + `
			advance 67108864ns
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			state RTS`},
		{"local ACK timeout, retry exceeded", retries(1), readOne + `
			advance 67108864ns
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			advance 67108863ns
			state RTS
			advance 1ns
			wc 1 RETRY_EXC_ERR
			state ERR
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			verdict wrong_state`},
		{"PSN sequence error, retry not exceeded", retries(1), `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			wc 2 SUCCESS RDMA_READ`},
		{"PSN sequence error, retry exceeded", retries(0), readOne + `
			< ACKNOWLEDGE psn=100 syn=seq rxe
			wc 1 RETRY_EXC_ERR
			state ERR`},
		{"RNR, retry not exceeded", retries(1), `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			state RTS`},
		{"RNR, retry exceeded", retries(0), `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			verdict rnr_wait
			wc 1 RNR_RETRY_EXC_ERR
			state ERR`},
		{"bad rkey", nil, readOne + `
			< ACKNOWLEDGE psn=100 syn=acc
			verdict remote_error
			wc 1 REM_ACCESS_ERR
			state ERR`},
		{"partial retry of a READ from its middle, answered with FIRST", nil, `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			advance 67108864ns
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=768 ack
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"partial retry of a READ from its middle, answered with MIDDLE by Linux rxe", nil, `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			advance 67108864ns
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=768 ack
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"partial retry of a READ from its last packet, answered with LAST by Linux rxe", nil, `
			post read id=1 len=512
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=512 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			advance 67108864ns
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=256 ack
			< RDMA_READ_RESPONSE_LAST psn=101 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"partial retry of a READ from its last packet, answered with ONLY", nil, `
			post read id=1 len=512
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=512 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			advance 67108864ns
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=256 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"partial retry of a WRITE from its middle", nil, `
			post write id=1 len=1024
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=101 syn=seq rxe
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE`},
		{"unexpected opcode: the peer calls it an invalid request", nil, readOne + `
			< ACKNOWLEDGE psn=100 syn=inv
			wc 1 REM_INV_REQ_ERR
			state ERR`},
		{"remote operational error", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=op
			verdict remote_error
			wc 1 REM_OP_ERR
			state ERR`},
		{"atomics repeated after their answers were lost", nil, `
			post faa id=1 len=8 add=3
			> FETCH_ADD psn=100 va=0x40000 add=3 cmp=0 ack
			post cas id=2 len=8 cmp=3 swap=9
			> COMPARE_SWAP psn=101 va=0x40000 add=9 cmp=3 ack
			advance 67108864ns
			> FETCH_ADD psn=100 va=0x40000 add=3 cmp=0 ack
			< ATOMIC_ACKNOWLEDGE psn=100 value=0
			wc 1 SUCCESS FETCH_ADD
			> COMPARE_SWAP psn=101 va=0x40000 add=9 cmp=3 ack
			< ATOMIC_ACKNOWLEDGE psn=101 value=3
			wc 2 SUCCESS COMP_SWAP
			< ATOMIC_ACKNOWLEDGE psn=101 value=3
			verdict duplicate`},
		{"PSN wrap inside a READ", func(a *qp.Attr, c *Config) { a.SQPSN = 0xfffffe }, `
			post read id=1 len=1000
			> RDMA_READ_REQUEST psn=16777214 va=0x40000 dma=1000 ack
			post send id=2 len=1
			> SEND_ONLY psn=2 len=1 ack
			< RDMA_READ_RESPONSE_FIRST psn=16777214 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=0 len=256
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=16777215 va=0x40100 dma=744 ack
			> SEND_ONLY psn=2 len=1 ack
			< RDMA_READ_RESPONSE_FIRST psn=16777215 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=0 len=256
			< RDMA_READ_RESPONSE_LAST psn=1 len=232
			wc 1 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=2
			wc 2 SUCCESS SEND`},
	})
}

func TestKnownScenariosOfTheResponder(t *testing.T) {
	runScenarios(t, []scenario{
		{"ghost ACK for an end that sent nothing", nil, `
			< ACKNOWLEDGE psn=100
			verdict ghost_response
			< ACKNOWLEDGE psn=100 syn=seq rxe
			verdict ghost_response
			< ACKNOWLEDGE psn=100 syn=acc
			verdict ghost_response
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			verdict ghost_response
			state RTS`},
		{"PSN sequence error: one NAK, then the missing request", nil, `
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			verdict out_of_sequence
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2`},
		{"RNR, retry not exceeded", nil, `
			< SEND_ONLY psn=100 len=1 ack
			verdict no_receive
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			recv id=1 len=1
			< SEND_ONLY psn=100 len=1 ack
			wc 1 SUCCESS RECV len=1
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"RNR, retry exceeded: every try gets its NAK", nil, `
			< SEND_ONLY psn=100 len=1 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			< SEND_ONLY psn=100 len=1 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			< SEND_ONLY psn=100 len=1 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			state RTS`},
		refusal("bad rkey of a READ", "acc", `< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=0 ack`, nil),
		refusal("bad rkey of a WRITE", "acc", `< RDMA_WRITE_ONLY psn=100 len=1 va=0x10000 dma=1 rkey=0 ack`, nil),
		refusal("bad rkey of an atomic", "acc", `< FETCH_ADD psn=100 va=0x10000 add=1 rkey=0 ack`, nil),
		{"unexpected opcode: a READ before the LAST of a WRITE", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=1024 rkey=rw
			< RDMA_WRITE_MIDDLE psn=101 len=256
			< RDMA_WRITE_MIDDLE psn=102 len=256
			< RDMA_READ_REQUEST psn=103 va=0x10000 dma=1 rkey=rw ack
			verdict invalid_request
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=103 syn=inv msn=0
			state ERR`},
		{"remote operational error: the memory of the receive is gone", nil, `
			recv id=1 len=10
			dereg rw
			< SEND_ONLY psn=100 len=1 ack
			verdict operational_error
			wc 1 LOC_PROT_ERR
			> ACKNOWLEDGE psn=100 syn=op msn=0
			state ERR`},
	})
	repeated := func(rule, how, again string) scenario {
		return scenario{rule, nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1000 rkey=rw ack ` + how + `
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=232 syn=ack msn=1
			` + again}
	}
	runScenarios(t, []scenario{
		repeated("partial retry of a READ from its middle: RNICs expect FIRST", "", `
			< RDMA_READ_REQUEST psn=101 va=0x10100 dma=744 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=232 syn=ack msn=1`),
		repeated("partial retry of a READ from its middle: Linux rxe expects MIDDLE", "rxe", `
			< RDMA_READ_REQUEST psn=101 va=0x10100 dma=744 rkey=rw ack rxe
			verdict duplicate
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=232 syn=ack msn=1`),
		repeated("partial retry of a READ from its last packet: RNICs expect ONLY", "", `
			< RDMA_READ_REQUEST psn=103 va=0x10300 dma=232 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=103 len=232 syn=ack msn=1`),
		repeated("partial retry of a READ from its last packet: Linux rxe expects LAST", "rxe", `
			< RDMA_READ_REQUEST psn=103 va=0x10300 dma=232 rkey=rw ack rxe
			> RDMA_READ_RESPONSE_LAST psn=103 len=232 syn=ack msn=1`),
		repeated("a whole READ again begins with FIRST, for Linux rxe too", "rxe", `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1000 rkey=rw ack rxe
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=232 syn=ack msn=1`),
		{"duplicate atomics after lost ACKs are answered and not executed", nil, `
			< FETCH_ADD psn=100 va=0x10008 add=3 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< COMPARE_SWAP psn=101 va=0x10008 cmp=3 add=9 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=3
			< FETCH_ADD psn=100 va=0x10008 add=3 rkey=rw ack
			verdict duplicate
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< COMPARE_SWAP psn=101 va=0x10008 cmp=3 add=9 rkey=rw ack
			verdict duplicate
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=3
			< FETCH_ADD psn=102 va=0x10008 add=0 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=3 value=9`},
		{"PSN wrap inside a READ", func(a *qp.Attr, c *Config) { a.RQPSN = 0xfffffe }, `
			< RDMA_READ_REQUEST psn=16777214 va=0x10000 dma=1000 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=16777214 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=16777215 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=0 len=256
			> RDMA_READ_RESPONSE_LAST psn=1 len=232 syn=ack msn=1
			< RDMA_READ_REQUEST psn=0 va=0x10200 dma=488 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_FIRST psn=0 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=1 len=232 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=2 len=0 ack
			> ACKNOWLEDGE psn=2 syn=ack msn=2`},
	})
}
