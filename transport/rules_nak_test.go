package transport

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// IBA 9.7.5.1.2 and 9.7.5.2: which responses make a requester go back, and to which PSN.
func TestRequesterGoesBack(t *testing.T) {
	twoPackets := `
			post send id=1 len=512
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
	`
	runScenarios(t, []scenario{
		{"a sequence NAK acknowledges all before its PSN and is answered from there, inside the message (9.7.5.2)", nil,
			twoPackets + `
			< ACKNOWLEDGE psn=101 syn=seq rxe
			verdict sequence_nak
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"a second NAK for the same PSN before any progress is not answered again", nil, twoPackets + `
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"a gap in READ responses is asked for again from the gap, once (9.7.5.1.2)", nil, `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=768 ack
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
	})
}

func TestRequesterEndsOnErrors(t *testing.T) {
	three := `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post write id=2 len=1
			> RDMA_WRITE_ONLY psn=101 len=1 va=0x40000 dma=1 ack
			post send id=3 len=1
			> SEND_ONLY psn=102 len=1 ack
	`
	refused := func(code, status string) scenario {
		return scenario{"NAK " + code + " ends in " + status +
			" and ERR; those before succeed, those behind are flushed", nil, three + `
			< ACKNOWLEDGE psn=101 syn=` + code + `
			verdict remote_error
			wc 1 SUCCESS SEND
			wc 2 ` + status + `
			wc 3 WR_FLUSH_ERR
			state ERR
			post send id=4 len=1
			wc 4 WR_FLUSH_ERR
			recv id=5 len=1
			wc 5 WR_FLUSH_ERR`}
	}
	runScenarios(t, []scenario{
		refused("inv", "REM_INV_REQ_ERR"),
		refused("acc", "REM_ACCESS_ERR"),
		refused("op", "REM_OP_ERR"),
		refused("rd", "REM_INV_RD_REQ_ERR"),
		refused("rsvd", "BAD_RESP_ERR"),
		{"a reserved syndrome is dropped", nil, three + `
			< ACKNOWLEDGE psn=101 syn=odd
			verdict reserved_syndrome
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS SEND
			wc 2 SUCCESS RDMA_WRITE
			wc 3 SUCCESS SEND`},
		{"a READ response for a SEND is dropped", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			verdict bad_response
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"a READ on a queue pair with max_rd_atomic 0 is a local operation error",
			func(a *qp.Attr, c *Config) { a.MaxRdAtomic = 0 }, `
			post read id=1 len=1
			wc 1 LOC_QP_OP_ERR
			state ERR`},
		{"data for a READ whose buffer is gone is a local protection error", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			dereg rw
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			verdict local_error
			wc 1 LOC_PROT_ERR
			state ERR`},
		{"an ATOMIC ACKNOWLEDGE for a READ and a READ response for an atomic are dropped", nil, `
			post read id=1 len=8
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=8 ack
			post faa id=2 len=8 add=3
			> FETCH_ADD psn=101 va=0x40000 add=3 cmp=0 ack
			< ATOMIC_ACKNOWLEDGE psn=100
			verdict bad_response
			< RDMA_READ_RESPONSE_ONLY psn=100 len=8
			wc 1 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=101 len=8
			verdict bad_response
			< ATOMIC_ACKNOWLEDGE psn=101
			wc 2 SUCCESS FETCH_ADD`},
		{"an ATOMIC ACKNOWLEDGE that nobody asked for is dropped", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ATOMIC_ACKNOWLEDGE psn=100
			verdict bad_response
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
	})
}

// refused is the asynchronous event of a NAK that ends a connection (IBA 11.6.3.1).
var refused = map[string]string{"inv": "QP_REQ_ERR", "acc": "QP_ACCESS_ERR"}

// refusal is a request that must cause a NAK, its event, the ERR state and nothing else.
func refusal(rule, nak, packets string, adjust func(*qp.Attr, *Config)) scenario {
	return scenario{rule, adjust, packets + `
			event ` + refused[nak] + `
			> ACKNOWLEDGE psn=100 syn=` + nak + ` msn=0
			state ERR
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			verdict wrong_state`}
}

// IBA 9.7.4.1.3 to 9.7.4.1.6 and 9.7.5.2: which fault is answered with which NAK. After a NAK
// other than a sequence NAK or an RNR NAK, the queue pair is in ERR.
func TestResponderRefuses(t *testing.T) {
	no := func(bits mr.Access) func(*qp.Attr, *Config) {
		return func(a *qp.Attr, c *Config) { a.Access &^= bits }
	}
	runScenarios(t, []scenario{
		refusal("a WRITE to a queue pair without remote write is an invalid request (9.7.4.1)", "inv",
			`< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack`, no(mr.RemoteWrite)),
		refusal("a READ from a queue pair without remote read is an invalid request", "inv",
			`< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw ack`, no(mr.RemoteRead)),
		refusal("a READ with max_dest_rd_atomic 0 is an invalid request", "inv",
			`< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4 rkey=rw ack`,
			func(a *qp.Attr, c *Config) { a.MaxDestRdAtomic = 0 }),
		refusal("an unknown key is a remote access error (9.7.4.1.5)", "acc",
			`< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77 ack`, nil),
		refusal("a WRITE to read-only memory is a remote access error", "acc",
			`< RDMA_WRITE_ONLY psn=100 len=4 va=0x200000 dma=4 rkey=ro ack`, nil),
		refusal("a WRITE that reaches over the end is refused before its first byte", "acc",
			`< RDMA_WRITE_FIRST psn=100 len=256 va=0x10fff00 dma=300 rkey=rw ack`, nil),
		refusal("a WRITE below the region is refused", "acc",
			`< RDMA_WRITE_ONLY psn=100 len=4 va=0xffff dma=4 rkey=rw ack`, nil),
		refusal("address plus length may not wrap at 2^64", "acc",
			`< RDMA_WRITE_FIRST psn=100 len=256 va=0xffffffffffffff00 dma=1024 rkey=rw ack`, nil),
		refusal("a READ over the end is a remote access error", "acc",
			`< RDMA_READ_REQUEST psn=100 va=0x200000 dma=4097 rkey=ro ack`, nil),
		refusal("a READ request with payload is an invalid request (9.7.4.1.6)", "inv",
			`< RDMA_READ_REQUEST psn=100 len=4 va=0x10000 dma=4 rkey=rw ack`, nil),
		refusal("an atomic with payload is an invalid request", "inv",
			`< FETCH_ADD psn=100 len=8 va=0x10008 add=1 rkey=rw ack`, nil),
		refusal("an atomic at an odd address is an invalid request (9.4.5)", "inv",
			`< FETCH_ADD psn=100 va=0x10004 add=1 rkey=rw ack`, nil),
		refusal("an atomic on a queue pair without remote atomics is an invalid request", "inv",
			`< COMPARE_SWAP psn=100 va=0x10008 rkey=rw ack`, no(mr.RemoteAtomic)),
		refusal("an atomic on memory without remote atomics is a remote access error", "acc",
			`< FETCH_ADD psn=100 va=0x200000 add=1 rkey=ro ack`, nil),
		refusal("an atomic over the end of the region is a remote access error", "acc",
			`< FETCH_ADD psn=100 va=0x110000 add=1 rkey=rw ack`, nil),
		{"memory deregistered under a WRITE is a remote access error", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=300 rkey=rw
			dereg rw
			< RDMA_WRITE_LAST psn=101 len=44 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=0
			state ERR`},
		{"READs before a refused request are answered first", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< SEND_LAST psn=101 len=1 ack
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=1
			state ERR`},
		{"a UC packet does not belong on an RC queue pair", nil, `
			< UC_RDMA_WRITE_ONLY psn=100 len=1
			verdict wrong_service`},
		{"requests behind the refused one are dropped until the NAK has left", nil, `
			<+ RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77 ack
			verdict access_refused
			<+ RDMA_WRITE_ONLY psn=101 len=4 va=0x10000 dma=4 rkey=rw ack
			verdict reply_pending
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			verdict reply_pending
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			state ERR`},
		{"a refused request takes the place of a sequence NAK that waits", nil, `
			<+ RDMA_WRITE_ONLY psn=101 len=0 ack
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			state ERR`},
		{"a refused request flushes both queues", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			recv id=2 len=1
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77 ack
			event QP_ACCESS_ERR
			wc 1 WR_FLUSH_ERR
			wc 2 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			state ERR
			< ACKNOWLEDGE psn=100
			verdict wrong_state`},
		{"memory that goes away while a READ is answered ends the answer with a remote access error", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=600 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			dereg rw
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=1
			state ERR`},
	})
}
