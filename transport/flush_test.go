package transport

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// flushable permits the peer to FLUSH.
func flushable(a *qp.Attr, c *Config) { a.Access |= mr.FlushGlobal | mr.FlushPersistent }

func TestRequesterFlushes(t *testing.T) {
	runScenarios(t, []scenario{
		{"FLUSH takes one PSN and completes with an empty READ response (A19)", nil, `
			post flush id=1 va=0x40000 n=4096 type=1
			> FLUSH psn=100 va=0x40000 dma=4096 type=1 level=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			verdict accepted
			wc 1 SUCCESS FLUSH
			post flush id=2 type=3 level=1
			> FLUSH psn=101 va=0x0 dma=0 type=3 level=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0
			wc 2 SUCCESS FLUSH`},
		{"FLUSH does not count against max_rd_atomic, ATOMIC WRITE does",
			func(a *qp.Attr, c *Config) { a.MaxRdAtomic = 1 }, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			post atomwrite id=2 len=8
			> ATOMIC_WRITE psn=101 len=8 va=0x40000 dma=8 ack
			post flush id=3 type=2
			> FLUSH psn=102 va=0x0 dma=0 type=2 level=0 ack
			post atomwrite id=4 len=8
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS FLUSH
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0
			wc 2 SUCCESS ATOMIC_WRITE
			> ATOMIC_WRITE psn=103 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=0
			wc 3 SUCCESS FLUSH
			< RDMA_READ_RESPONSE_ONLY psn=103 len=0
			wc 4 SUCCESS ATOMIC_WRITE`},
		{"ATOMIC WRITE consumes no receive and asks for no solicited event (9.2.3)", nil, `
			post atomwrite id=1 len=8 se
			> ATOMIC_WRITE psn=100 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS ATOMIC_WRITE`},
		{"READ, atomic and ATOMIC WRITE share max_rd_atomic", nil, `
			post atomwrite id=1 len=8
			> ATOMIC_WRITE psn=100 len=8 va=0x40000 dma=8 ack
			post faa id=2 len=8 add=1
			> FETCH_ADD psn=101 va=0x40000 add=1 cmp=0 ack
			post read id=3 len=8
			post atomwrite id=4 len=8
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS ATOMIC_WRITE
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=8 ack
			< ATOMIC_ACKNOWLEDGE psn=101
			wc 2 SUCCESS FETCH_ADD
			> ATOMIC_WRITE psn=103 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=8
			wc 3 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=103 len=0
			wc 4 SUCCESS ATOMIC_WRITE`},
		{"an acknowledgement of what follows completes FLUSH and ATOMIC WRITE: there is no data to miss",
			func(a *qp.Attr, c *Config) { a.MaxRdAtomic = 1 }, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			post atomwrite id=2 len=8
			> ATOMIC_WRITE psn=101 len=8 va=0x40000 dma=8 ack
			post send id=3 len=1
			> SEND_ONLY psn=102 len=1 ack
			post atomwrite id=4 len=8
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS FLUSH
			wc 2 SUCCESS ATOMIC_WRITE
			wc 3 SUCCESS SEND
			> ATOMIC_WRITE psn=103 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0
			verdict duplicate
			< RDMA_READ_RESPONSE_ONLY psn=103 len=0
			wc 4 SUCCESS ATOMIC_WRITE`},
		{"a lost answer is asked for again with the same PSN", nil, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			post atomwrite id=2 len=8
			> ATOMIC_WRITE psn=101 len=8 va=0x40000 dma=8 ack
			advance 67108864ns
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack rxeicrc
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS FLUSH
			> ATOMIC_WRITE psn=101 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0
			wc 2 SUCCESS ATOMIC_WRITE`},
		{"an answer with data does not fit", nil, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			verdict bad_response
			wc 1 LOC_LEN_ERR
			state ERR`},
		{"an answer in pieces does not fit", nil, `
			post atomwrite id=1 len=8
			> ATOMIC_WRITE psn=100 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			wc 1 BAD_RESP_ERR
			state ERR`},
		{"an ATOMIC WRITE with max_rd_atomic 0 is a local operation error, a FLUSH is not",
			func(a *qp.Attr, c *Config) { a.MaxRdAtomic = 0 }, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS FLUSH
			post atomwrite id=2 len=8
			wc 2 LOC_QP_OP_ERR
			state ERR`},
		{"a refused FLUSH ends in the status of its NAK", nil, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			< ACKNOWLEDGE psn=100 syn=acc
			wc 1 REM_ACCESS_ERR
			state ERR`},
		{"the window holds FLUSH and ATOMIC WRITE back as all others", func(a *qp.Attr, c *Config) { c.Window = 1 }, `
			post flush id=1 type=1
			> FLUSH psn=100 va=0x0 dma=0 type=1 level=0 ack
			post flush id=2 type=1
			post atomwrite id=3 len=8
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS FLUSH
			> FLUSH psn=101 va=0x0 dma=0 type=1 level=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=0
			wc 2 SUCCESS FLUSH
			> ATOMIC_WRITE psn=102 len=8 va=0x40000 dma=8 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=0
			wc 3 SUCCESS ATOMIC_WRITE`},
	})
}

func TestResponderFlushes(t *testing.T) {
	refused := func(rule, nak, packets string, adjust func(*qp.Attr, *Config)) scenario {
		s := refusal(rule, nak, packets, adjust)
		if adjust == nil {
			s.adjust = flushable
		}
		return s
	}
	with := func(access mr.Access) func(*qp.Attr, *Config) {
		return func(a *qp.Attr, c *Config) { a.Access = access }
	}
	runScenarios(t, []scenario{
		{"FLUSH is answered with an empty READ response (A19)", flushable, `
			< FLUSH psn=100 va=0x300000 dma=4096 rkey=bindable type=1 ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			< FLUSH psn=101 rkey=bindable type=3 level=1 va=0x9 dma=5 ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=0 syn=ack msn=2
			< FLUSH psn=102 va=0x300000 dma=0 rkey=bindable type=2 ack
			> RDMA_READ_RESPONSE_ONLY psn=102 len=0 syn=ack msn=3`},
		{"a duplicate FLUSH gets the same answer", flushable, `
			< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=1 ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0
			< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=1 ack
			verdict duplicate
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			< FLUSH psn=100 va=0x300001 dma=8 rkey=bindable type=1 ack
			verdict unknown_duplicate`},
		{"FLUSH takes nothing from max_dest_rd_atomic",
			func(a *qp.Attr, c *Config) { flushable(a, c); a.MaxDestRdAtomic = 1 }, `
			<+ FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=1 ack
			<+ RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			<+ FLUSH psn=102 va=0x300000 dma=8 rkey=bindable type=1 ack
			<+ FLUSH psn=103 va=0x300000 dma=8 rkey=bindable type=1 ack
			< RDMA_WRITE_ONLY psn=104 len=0 ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			> RDMA_READ_RESPONSE_ONLY psn=102 len=0 syn=ack msn=3
			> RDMA_READ_RESPONSE_ONLY psn=103 len=0 syn=ack msn=4
			> ACKNOWLEDGE psn=104 syn=ack msn=5`},
		{"one FLUSH more than answers can wait is as good as lost", flushable, burstOfFlushes},
		refused("FLUSH to a queue pair without the right is an invalid request", "inv",
			`< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=1 ack`, with(mr.FlushPersistent)),
		refused("persistence needs its own right on the queue pair", "inv",
			`< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=3 ack`, with(mr.FlushGlobal)),
		refused("FLUSH of a region without the right is a remote access error", "acc",
			`< FLUSH psn=100 va=0x10000 dma=8 rkey=rw type=1 ack`, nil),
		refused("FLUSH over the end of the region is a remote access error", "acc",
			`< FLUSH psn=100 va=0x300ff9 dma=8 rkey=bindable type=1 ack`, nil),
		refused("FLUSH of nothing needs a key all the same", "acc", `< FLUSH psn=100 rkey=0x77 type=1 ack`, nil),
		refused("FLUSH with payload is an invalid request (oA19-2)", "inv",
			`< FLUSH psn=100 len=4 va=0x300000 dma=4 rkey=bindable type=1 ack`, nil),
		refused("FLUSH without a type is an invalid request", "inv",
			`< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable ack`, nil),
		refused("FLUSH of an unknown type is an invalid request", "inv",
			`< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=5 ack`, nil),
		refused("FLUSH of an unknown level is an invalid request", "inv",
			`< FLUSH psn=100 va=0x300000 dma=8 rkey=bindable type=1 level=2 ack`, nil),
		refused("FLUSH of 2^31 bytes is no more than too much for the region", "acc",
			`< FLUSH psn=100 va=0x300000 dma=2147483648 rkey=bindable type=1 ack`, nil),
		refused("FLUSH of more than 2^31 bytes is an invalid request", "inv",
			`< FLUSH psn=100 va=0x300000 dma=2147483649 rkey=bindable type=1 level=1 ack`, nil),
	})
}

const burstOfFlushes = `
			<+ FLUSH psn=100 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=101 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=102 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=103 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=104 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=105 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=106 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=107 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=108 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=109 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=110 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=111 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=112 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=113 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=114 rkey=bindable type=1 level=1 ack
			<+ FLUSH psn=115 rkey=bindable type=1 level=1 ack
			verdict accepted
			< FLUSH psn=116 rkey=bindable type=1 level=1 ack
			verdict out_of_sequence
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=0 syn=ack msn=2
			> RDMA_READ_RESPONSE_ONLY psn=102 len=0 syn=ack msn=3
			> RDMA_READ_RESPONSE_ONLY psn=103 len=0 syn=ack msn=4
			> RDMA_READ_RESPONSE_ONLY psn=104 len=0 syn=ack msn=5
			> RDMA_READ_RESPONSE_ONLY psn=105 len=0 syn=ack msn=6
			> RDMA_READ_RESPONSE_ONLY psn=106 len=0 syn=ack msn=7
			> RDMA_READ_RESPONSE_ONLY psn=107 len=0 syn=ack msn=8
			> RDMA_READ_RESPONSE_ONLY psn=108 len=0 syn=ack msn=9
			> RDMA_READ_RESPONSE_ONLY psn=109 len=0 syn=ack msn=10
			> RDMA_READ_RESPONSE_ONLY psn=110 len=0 syn=ack msn=11
			> RDMA_READ_RESPONSE_ONLY psn=111 len=0 syn=ack msn=12
			> RDMA_READ_RESPONSE_ONLY psn=112 len=0 syn=ack msn=13
			> RDMA_READ_RESPONSE_ONLY psn=113 len=0 syn=ack msn=14
			> RDMA_READ_RESPONSE_ONLY psn=114 len=0 syn=ack msn=15
			> RDMA_READ_RESPONSE_ONLY psn=115 len=0 syn=ack msn=16
			> ACKNOWLEDGE psn=116 syn=seq msn=16
			< FLUSH psn=116 rkey=bindable type=1 level=1 ack
			> RDMA_READ_RESPONSE_ONLY psn=116 len=0 syn=ack msn=17`

func TestResponderExecutesAtomicWritesOnce(t *testing.T) {
	runScenarios(t, []scenario{
		{"ATOMIC WRITE stores its 8 bytes and is answered with an empty READ response (A19)", nil, `
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< ATOMIC_WRITE psn=101 len=8 va=0x10008 dma=8 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=0 syn=ack msn=2
			< FETCH_ADD psn=102 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=3 value=0`},
		{"a duplicate ATOMIC WRITE gets the same answer and writes nothing", nil, `
			< ATOMIC_WRITE psn=100 len=8 va=0x10008 dma=8 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			< FETCH_ADD psn=101 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=0
			< ATOMIC_WRITE psn=100 len=8 va=0x10008 dma=8 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1
			< ATOMIC_WRITE psn=100 len=8 va=0x10010 dma=8 rkey=rw ack
			verdict unknown_duplicate
			< FETCH_ADD psn=102 va=0x10008 add=0 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=102 syn=ack msn=3 value=5`},
		{"a peer with more READs, atomics and ATOMIC WRITEs outstanding than max_dest_rd_atomic has made an invalid request", nil, `
			<+ FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			<+ ATOMIC_WRITE psn=101 len=8 va=0x10008 dma=8 rkey=rw ack
			< RDMA_READ_REQUEST psn=102 va=0x10008 dma=8 rkey=rw ack
			verdict invalid_request
			event QP_REQ_ERR
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			> RDMA_READ_RESPONSE_ONLY psn=101 len=0 syn=ack msn=2
			> ACKNOWLEDGE psn=102 syn=inv msn=2
			state ERR`},
		{"one ATOMIC WRITE too many is an invalid request", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10008 dma=8 rkey=rw ack
			<+ RDMA_READ_REQUEST psn=101 va=0x10008 dma=8 rkey=rw ack
			< ATOMIC_WRITE psn=102 len=8 va=0x10008 dma=8 rkey=rw ack
			verdict invalid_request
			event QP_REQ_ERR
			> RDMA_READ_RESPONSE_ONLY psn=100 len=8 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=8 syn=ack msn=2
			> ACKNOWLEDGE psn=102 syn=inv msn=2
			state ERR`},
		refusal("an ATOMIC WRITE at an odd address is an invalid request", "inv",
			`< ATOMIC_WRITE psn=100 len=8 va=0x10004 dma=8 rkey=rw ack`, nil),
		refusal("an ATOMIC WRITE of 4 bytes is an invalid request", "inv",
			`< ATOMIC_WRITE psn=100 len=4 va=0x10008 dma=4 rkey=rw ack`, nil),
		refusal("an ATOMIC WRITE with less than it says is an invalid request", "inv",
			`< ATOMIC_WRITE psn=100 len=0 va=0x10008 dma=8 rkey=rw ack`, nil),
		refusal("an ATOMIC WRITE of more than 8 bytes is an invalid request", "inv",
			`< ATOMIC_WRITE psn=100 len=16 va=0x10008 dma=16 rkey=rw ack`, nil),
		refusal("an ATOMIC WRITE without the right to write is an invalid request", "inv",
			`< ATOMIC_WRITE psn=100 len=8 va=0x10008 dma=8 rkey=rw ack`,
			func(a *qp.Attr, c *Config) { a.Access = mr.RemoteAtomic }),
		refusal("an ATOMIC WRITE with max_dest_rd_atomic 0 is an invalid request", "inv",
			`< ATOMIC_WRITE psn=100 len=8 va=0x10008 dma=8 rkey=rw ack`,
			func(a *qp.Attr, c *Config) { a.MaxDestRdAtomic = 0 }),
		refusal("an ATOMIC WRITE to memory that cannot be written is a remote access error", "acc",
			`< ATOMIC_WRITE psn=100 len=8 va=0x200000 dma=8 rkey=ro ack`, nil),
	})
}
