package transport

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

func TestResponderExecutesInOrder(t *testing.T) {
	runScenarios(t, []scenario{
		{"a SEND fills the oldest receive and is acknowledged when asked (9.7.5.1)", nil, `
			recv id=1 len=1000
			< SEND_FIRST psn=100 len=256
			< SEND_LAST psn=101 len=10 ack se
			wc 1 SUCCESS RECV len=266 se
			> ACKNOWLEDGE psn=101 syn=ack msn=1`},
		{"a packet without AckReq is not acknowledged", nil, `
			recv id=1 len=1000
			< SEND_ONLY psn=100 len=1
			wc 1 SUCCESS RECV len=1`},
		{"immediate data reaches the completion of a SEND", nil, `
			recv id=1 len=1000
			< SEND_ONLY_WITH_IMMEDIATE psn=100 len=4 imm=77 ack
			wc 1 SUCCESS RECV len=4 imm=77
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"a WRITE takes no receive, a WRITE with immediate takes one at its end and reports the whole length", nil, `
			recv id=1 len=0
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_FIRST psn=101 len=256 va=0x10000 dma=300 rkey=rw
			< RDMA_WRITE_LAST_WITH_IMMEDIATE psn=102 len=44 imm=5 ack
			wc 1 SUCCESS RECV_RDMA_WITH_IMM len=300 imm=5
			> ACKNOWLEDGE psn=102 syn=ack msn=2`},
		{"a WRITE of nothing needs no valid key (9.7.4.1)", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0 va=0x99 dma=0 rkey=0x77 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"a READ is answered with FIRST, MIDDLE, LAST and takes their PSNs", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=700 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_LAST psn=102 len=188 syn=ack msn=1
			recv id=1 len=1
			< SEND_ONLY psn=103 len=1 ack
			wc 1 SUCCESS RECV len=1
			> ACKNOWLEDGE psn=103 syn=ack msn=2`},
		{"a READ of nothing is answered with an empty ONLY and needs no valid key", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x99 dma=0 rkey=0x77 ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1`},
		{"the message sequence number counts to 2^24 and the PSN wraps (9.7.7)", func(a *qp.Attr, c *Config) { a.RQPSN = 0xffffff }, `
			< RDMA_WRITE_ONLY psn=16777215 len=0 ack
			> ACKNOWLEDGE psn=16777215 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=0 len=0 ack
			> ACKNOWLEDGE psn=0 syn=ack msn=2`},
	})
}

func TestResponderMeetsGapsAndDuplicates(t *testing.T) {
	runScenarios(t, []scenario{
		{"a gap is reported once, with the expected PSN, until that PSN arrives (9.7.5.2)", nil, `
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			verdict out_of_sequence
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=103 len=0 ack
			< RDMA_WRITE_ONLY psn=100 len=0
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			> ACKNOWLEDGE psn=101 syn=seq msn=1
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate SEND or WRITE is acknowledged with the newest PSN and not executed (9.7.5.1)", nil, `
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
		{"a repeated answer gives way to a new READ, which tells that it arrived", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			verdict duplicate
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=1 rkey=rw ack
			verdict accepted
			> RDMA_READ_RESPONSE_ONLY psn=102 len=1 syn=ack msn=3`},
		{"more READs than max_dest_rd_atomic at a time are an invalid request (9.7.4.1)", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			<+ RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=1 rkey=rw ack
			verdict invalid_request
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			> ACKNOWLEDGE psn=102 syn=inv msn=2
			state ERR`},
		{"only the last max_dest_rd_atomic READs are remembered", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=102 len=1 syn=ack msn=3
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2`},
	})
}

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
	})
}

// refusal is a request that must end in a NAK, an error state and nothing else.
func refusal(rule, nak, packets string, adjust func(*qp.Attr, *Config)) scenario {
	return scenario{rule, adjust, packets + `
			> ACKNOWLEDGE psn=100 syn=` + nak + ` msn=0
			state ERR
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			verdict wrong_state`}
}

func TestResponderRefuses(t *testing.T) {
	no := func(bits mr.Access) func(*qp.Attr, *Config) {
		return func(a *qp.Attr, c *Config) { a.Access &^= bits }
	}
	runScenarios(t, []scenario{
		refusal("MIDDLE without FIRST is an invalid request (9.7.4.1)", "inv", `< SEND_MIDDLE psn=100 len=256 ack`, nil),
		refusal("LAST without FIRST is an invalid request (9.7.4.1)", "inv", `< RDMA_WRITE_LAST psn=100 len=1 ack`, nil),
		refusal("FIRST shorter than the path MTU is an invalid request (9.7.4.1)", "inv", `< SEND_FIRST psn=100 len=252 ack`, nil),
		refusal("ONLY longer than the path MTU is an invalid request (9.7.4.1)", "inv", `< SEND_ONLY psn=100 len=260 ack`, nil),
		refusal("a WRITE whose payload is not its length is an invalid request (9.7.4.1)", "inv", `< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=8 rkey=rw ack`, nil),
		refusal("a WRITE FIRST with nothing left for LAST is an invalid request", "inv", `< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=256 rkey=rw ack`, nil),
		refusal("a WRITE longer than 2^31 is an invalid request (9.7.4.1)", "inv", `< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=2147483649 rkey=rw ack`, nil),
		refusal("a WRITE to a queue pair without remote write is an invalid request (9.7.4.1)", "inv", `< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack`, no(mr.RemoteWrite)),
		refusal("a READ from a queue pair without remote read is an invalid request", "inv", `< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw ack`, no(mr.RemoteRead)),
		refusal("a READ with max_dest_rd_atomic 0 is an invalid request", "inv", `< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw ack`, func(a *qp.Attr, c *Config) { a.MaxDestRdAtomic = 0 }),
		refusal("an unknown key is a remote access error (9.7.4.1)", "acc", `< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77 ack`, nil),
		refusal("a WRITE to read-only memory is a remote access error", "acc", `< RDMA_WRITE_ONLY psn=100 len=4 va=0x200000 dma=4 rkey=ro ack`, nil),
		refusal("a WRITE that reaches over the end is refused before its first byte", "acc", `< RDMA_WRITE_FIRST psn=100 len=256 va=0x10fff00 dma=300 rkey=rw ack`, nil),
		refusal("a WRITE below the region is refused", "acc", `< RDMA_WRITE_ONLY psn=100 len=4 va=0xffff dma=4 rkey=rw ack`, nil),
		refusal("address plus length may not wrap at 2^64", "acc", `< RDMA_WRITE_FIRST psn=100 len=256 va=0xffffffffffffff00 dma=1024 rkey=rw ack`, nil),
		refusal("a READ over the end is a remote access error", "acc", `< RDMA_READ_REQUEST psn=100 va=0x200000 dma=4097 rkey=ro ack`, nil),
		refusal("an atomic at an odd address is an invalid request (9.4.5)", "inv", `< FETCH_ADD psn=100 va=0x10004 add=1 rkey=rw ack`, nil),
		refusal("an atomic on a queue pair without remote atomics is an invalid request", "inv", `< COMPARE_SWAP psn=100 va=0x10008 rkey=rw ack`, no(mr.RemoteAtomic)),
		refusal("an atomic on memory without remote atomics is a remote access error", "acc", `< FETCH_ADD psn=100 va=0x200000 add=1 rkey=ro ack`, nil),
		refusal("an atomic over the end of the region is a remote access error", "acc", `< FETCH_ADD psn=100 va=0x110000 add=1 rkey=rw ack`, nil),
		refusal("FLUSH is not supported and so an invalid request", "inv", `< FLUSH psn=100 ack`, nil),
		{"a message longer than its receive is an invalid request and a local length error (9.7.4.1)", nil, `
			recv id=1 len=257
			< SEND_FIRST psn=100 len=256 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			< SEND_LAST psn=101 len=2 ack
			wc 1 LOC_LEN_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
		{"a WRITE inside a SEND is an invalid request; the receive is flushed", nil, `
			recv id=1 len=1000
			recv id=2 len=1000
			< SEND_FIRST psn=100 len=256
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			wc 1 WR_FLUSH_ERR
			wc 2 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
		{"an empty LAST is an invalid request (9.7.4.1)", nil, `
			recv id=1 len=1000
			< SEND_FIRST psn=100 len=256
			< SEND_LAST psn=101 len=0 ack
			wc 1 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0`},
		{"memory deregistered under a WRITE is a remote access error", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=300 rkey=rw
			dereg rw
			< RDMA_WRITE_LAST psn=101 len=44 ack
			> ACKNOWLEDGE psn=101 syn=acc msn=0
			state ERR`},
		{"READs before a refused request are answered first", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< SEND_LAST psn=101 len=1 ack
			> ACKNOWLEDGE psn=101 syn=inv msn=1
			state ERR`},
		{"a UC packet does not belong on an RC queue pair", nil, `
			< UC_RDMA_WRITE_ONLY psn=100 len=1
			verdict wrong_service`},
	})
}

func TestResponderExecutesAtomicsOnce(t *testing.T) {
	runScenarios(t, []scenario{
		{"FETCH ADD and COMPARE SWAP return the value before (9.4.5)", nil, `
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< COMPARE_SWAP psn=101 va=0x10008 cmp=4 add=9 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=5
			< COMPARE_SWAP psn=102 va=0x10008 cmp=5 add=9 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=3 value=5
			< FETCH_ADD psn=103 va=0x10008 add=0 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=103 syn=ack msn=4 value=9`},
		{"a duplicate atomic that is another operation or names another place is dropped", nil, `
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< COMPARE_SWAP psn=100 va=0x10008 add=5 rkey=rw ack
			verdict unknown_duplicate
			< FETCH_ADD psn=100 va=0x10010 add=5 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=100 va=0x10008 dma=8 rkey=rw ack
			verdict unknown_duplicate`},
		{"READs and atomics share the responder resources", nil, `
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=8 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=8 syn=ack msn=2
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=8 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=102 len=8 syn=ack msn=3
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			verdict unknown_duplicate`},
	})
}
