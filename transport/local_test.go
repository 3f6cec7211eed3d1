package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// bound posts the bind of a window of type 2, which completes.
const bound = `
			post bind id=9 key=w2 to=bindable va=0x300000 n=64
			wc 9 SUCCESS BIND_MW
			key w2 open
	`

func TestLocalOperations(t *testing.T) {
	runScenarios(t, []scenario{
		{"binding takes no PSN; the window is open when the next request begins", nil, `
			post bind id=1 key=w2 to=bindable va=0x300000 n=64
			wc 1 SUCCESS BIND_MW
			key w2 open
			post send id=2 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 2 SUCCESS SEND`},
		{"a bind does not wait for the requests before it, its completion does", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post bind id=2 key=w1 to=bindable va=0x300000 n=64
			key w1 open
			post bind id=3 key=w2 to=bindable va=0x300000 n=64 silent
			key w2 open
			post send id=4 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS BIND_MW
			wc 4 SUCCESS SEND`},
		{"local operations are complete when a READ or an atomic before them is", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			post faa id=3 len=8 add=1
			> FETCH_ADD psn=101 va=0x40000 add=1 cmp=0 ack
			post bind id=4 key=w1 to=bindable va=0x300000 n=64
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			wc 2 SUCCESS BIND_MW
			< ATOMIC_ACKNOWLEDGE psn=101
			wc 3 SUCCESS FETCH_ADD
			wc 4 SUCCESS BIND_MW`},
		{"going back passes over what was executed and does not repeat it", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			post send id=3 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			wc 2 SUCCESS BIND_MW
			> SEND_ONLY psn=101 len=1 ack
			advance 67108864ns
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 3 SUCCESS SEND`},
		{"an invalidation waits until all before it is complete, and what follows waits for it", nil, bound + `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post inv id=2 key=w2
			post send id=3 len=1
			key w2 open
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			wc 2 SUCCESS LOCAL_INV
			> SEND_ONLY psn=101 len=1 ack
			key w2 shut
			< ACKNOWLEDGE psn=101
			wc 3 SUCCESS SEND`},
		{"a window of type 2 is bound again once it is invalidated", nil, bound + `
			post inv id=1 key=w2
			wc 1 SUCCESS LOCAL_INV
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			wc 2 SUCCESS BIND_MW
			key w2 open`},
		{"a window of type 1 is unbound by binding it to nothing", nil, `
			post bind id=1 key=w1 to=bindable va=0x300000 n=64
			wc 1 SUCCESS BIND_MW
			post bind id=2 key=w1
			wc 2 SUCCESS BIND_MW
			key w1 shut`},
		{"a fast region comes and goes", nil, `
			post reg id=1 key=fast va=0x400000 n=64
			wc 1 SUCCESS REG_MR
			key fast open
			post inv id=2 key=fast
			wc 2 SUCCESS LOCAL_INV
			key fast shut
			post reg id=3 key=fast va=0x400000 n=64
			wc 3 SUCCESS REG_MR
			key fast open`},
		{"a fenced bind waits for READs", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post bind id=2 key=w2 to=bindable va=0x300000 n=64 fence
			key w2 shut
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			wc 2 SUCCESS BIND_MW`},
		{"a bind that is refused is MW_BIND_ERR and ends the connection", nil, bound + `
			post bind id=1 key=w2 to=bindable va=0x300000 n=64
			wc 1 MW_BIND_ERR
			state ERR
			post bind id=2 key=w1 to=bindable va=0x300000 n=64
			wc 2 WR_FLUSH_ERR
			key w1 shut`},
		{"a refused operation fails when its turn to complete has come", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post bind id=2 key=w1 to=rw va=0x10000 n=64
			post send id=3 len=1
			state RTS
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			wc 2 MW_BIND_ERR
			wc 3 WR_FLUSH_ERR
			state ERR`},
		{"an ordinary region cannot be invalidated", nil, `
			post inv id=1 key=rw
			wc 1 LOC_QP_OP_ERR
			state ERR
			key rw open`},
		{"a registration that is refused is a local operation error", nil, `
			post reg id=1 key=fast va=0x400000 n=4097
			wc 1 LOC_QP_OP_ERR
			state ERR`},
		{"done but not complete is flushed as everything else", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			< ACKNOWLEDGE psn=100 syn=acc
			wc 1 REM_ACCESS_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"SQD holds local operations back", nil, `
			modify SQD
			post bind id=1 key=w2 to=bindable va=0x300000 n=64
			key w2 shut
			modify RTS
			wc 1 SUCCESS BIND_MW`},
		{"an RNR wait holds local operations back", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			key w2 shut
			advance 640us
			> SEND_ONLY psn=100 len=1 ack
			key w2 open
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			wc 2 SUCCESS BIND_MW`},
	})
}

func TestUnreliableConnectionsLocalOperations(t *testing.T) {
	runUC(t, []scenario{
		{"binding, registering and invalidating take no packet and complete in order", nil, `
			post send id=1 len=1
			> UC_SEND_ONLY psn=100 len=1
			wc 1 SUCCESS SEND
			post bind id=2 key=w2 to=bindable va=0x300000 n=64
			wc 2 SUCCESS BIND_MW
			post inv id=3 key=w2
			wc 3 SUCCESS LOCAL_INV
			key w2 shut
			post reg id=4 key=fast va=0x400000 n=64
			wc 4 SUCCESS REG_MR
			post send id=5 len=1
			> UC_SEND_ONLY psn=101 len=1
			wc 5 SUCCESS SEND`},
		{"a window opens memory to the queue pair's peer", nil, `
			post bind id=1 key=w2 to=bindable va=0x300000 n=64
			wc 1 SUCCESS BIND_MW
			< UC_RDMA_WRITE_ONLY psn=100 len=4 va=0x300000 dma=4 rkey=w2
			verdict accepted
			< UC_RDMA_WRITE_ONLY psn=101 len=4 va=0x30003e dma=4 rkey=w2
			verdict access_refused`},
		{"SEND with invalidate is not for an unreliable connection", nil, `
			post sendinv id=1 len=1 key=w2
			wc 1 LOC_QP_OP_ERR`},
	})
}

func TestSendWithInvalidate(t *testing.T) {
	const peer = `
			recv id=5 len=1000
	`
	runScenarios(t, []scenario{
		{"the key travels with the last packet", nil, `
			post sendinv id=1 len=257 key=w2 se
			> SEND_FIRST psn=100 len=256
			> SEND_LAST_WITH_INVALIDATE psn=101 len=1 inv=w2 ack se
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			post sendinv id=2 key=w2
			> SEND_ONLY_WITH_INVALIDATE psn=102 len=0 inv=w2 ack
			< ACKNOWLEDGE psn=102
			wc 2 SUCCESS SEND`},
		{"the window is shut with the last packet, and the receive names the key", nil, bound + peer + `
			< SEND_FIRST psn=100 len=256
			key w2 open
			< SEND_LAST_WITH_INVALIDATE psn=101 len=4 inv=w2 ack se
			wc 5 SUCCESS RECV len=260 inv se
			> ACKNOWLEDGE psn=101 syn=ack msn=1
			key w2 shut
			< RDMA_WRITE_ONLY psn=102 len=4 va=0x300000 dma=4 rkey=w2 ack
			verdict access_refused
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=102 syn=acc msn=1`},
		{"a fast region is shut as well", nil, `
			post reg id=1 key=fast va=0x400000 n=64
			wc 1 SUCCESS REG_MR
	` + peer + `
			< SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast ack
			wc 5 SUCCESS RECV len=4 inv
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			key fast shut`},
		{"a duplicate is acknowledged and invalidates nothing", nil, bound + peer + `
			< SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2 ack
			wc 5 SUCCESS RECV len=4 inv
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			post bind id=1 key=w2 to=bindable va=0x300000 n=64
			wc 1 SUCCESS BIND_MW
			< SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2 ack
			verdict duplicate
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			key w2 open`},
		{"without a receive nothing is invalidated yet", nil, bound + `
			< SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2 ack
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			key w2 open`},
		{"an ordinary region is refused: remote access error, and REM_INV_REQ_ERR at the receiver as with rxe",
			nil, peer + `
			< SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=rw ack
			wc 5 REM_INV_REQ_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			state ERR
			key rw open`},
		{"a window of another queue pair is refused", nil, `qpn 0x12 bind w2
	` + peer + `
			< SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2 ack
			wc 5 REM_INV_REQ_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			key w2 open`},
	})
}

func TestWindowsOpenMemory(t *testing.T) {
	runScenarios(t, []scenario{
		{"a peer writes through a window as far as it reaches", nil, bound + `
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x30003c dma=4 rkey=w2 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=4 va=0x30003e dma=4 rkey=w2 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=1`},
		{"a zero-based window counts from 0", nil, `
			post bind id=1 key=w2 to=bindable va=0x300100 n=64 zero
			wc 1 SUCCESS BIND_MW
			< RDMA_WRITE_ONLY psn=100 len=4 va=0 dma=4 rkey=w2 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=4 va=0x300100 dma=4 rkey=w2 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=1`},
		{"a window grants its own rights only", nil, `
			post bind id=1 key=w1 to=bindable va=0x300000 n=64 access=read
			wc 1 SUCCESS BIND_MW
			< RDMA_READ_REQUEST psn=100 va=0x300000 dma=4 rkey=w1 ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=4 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=4 va=0x300000 dma=4 rkey=w1 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=1`},
		{"a window of type 2 is shut to other queue pairs, one of type 1 open to all", nil, `
			qpn 0x12 bind w1
			qpn 0x12 bind w2
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x300000 dma=4 rkey=w1 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=4 va=0x300000 dma=4 rkey=w2 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=1`},
		{"a window that is bound elsewhere in the middle of a WRITE refuses the rest", nil, `
			post bind id=1 key=w1 to=bindable va=0x300000 n=512
			wc 1 SUCCESS BIND_MW
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x300000 dma=300 rkey=w1
			post bind id=2 key=w1 to=bindable va=0x300000 n=512
			wc 2 SUCCESS BIND_MW
			< RDMA_WRITE_LAST psn=101 len=44 ack
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=0
			state ERR`},
		{"a READ through a window that is shut meanwhile is refused where it stands",
			func(a *qp.Attr, c *Config) { a.RNRRetry = 7 }, `
			post bind id=1 key=w2 to=bindable va=0x300000 n=512 access=read
			wc 1 SUCCESS BIND_MW
			recv id=5 len=0
			<+ RDMA_READ_REQUEST psn=100 va=0x300000 dma=512 rkey=w2 ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			< SEND_ONLY_WITH_INVALIDATE psn=102 len=0 inv=w2 ack
			wc 5 SUCCESS RECV len=0 inv
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=101 syn=acc msn=2
			state ERR`},
		{"an invalidation is executed before the READ responses that are waiting: they are refused", nil, `
			post bind id=1 key=w2 to=bindable va=0x300000 n=512 access=read
			wc 1 SUCCESS BIND_MW
			<+ RDMA_READ_REQUEST psn=100 va=0x300000 dma=512 rkey=w2 ack
			post inv id=2 key=w2
			wc 2 SUCCESS LOCAL_INV
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=1
			state ERR`},
		{"so are several local requests, one behind the other", nil, `
			post bind id=1 key=w1 to=bindable va=0x300000 n=512 access=read
			wc 1 SUCCESS BIND_MW
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post bind id=3 key=w2 to=bindable va=0x300000 n=512 fence
			post bind id=4 key=w1
			<+ RDMA_READ_REQUEST psn=100 va=0x300000 dma=4 rkey=w1 ack
			<+ RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 2 SUCCESS RDMA_READ
			send 64
			wc 3 SUCCESS BIND_MW
			wc 4 SUCCESS BIND_MW
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=1
			state ERR`},
		{"a local request waits while payload in the batch may be borrowed from what it takes away", nil, `
			post bind id=1 key=w1 to=bindable va=0x300000 n=512 access=read
			wc 1 SUCCESS BIND_MW
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post read id=3 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			post read id=4 len=1
			post bind id=5 key=w1
			<+ RDMA_READ_REQUEST psn=100 va=0x300000 dma=4 rkey=w1 ack
			<+ RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 2 SUCCESS RDMA_READ
			send 64 more
			> RDMA_READ_RESPONSE_ONLY psn=100 len=4 syn=ack msn=1
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=1 ack
			key w1 open
			key w1 shut`},
		{"no local request may name a window's key", nil, bound + `
			post send id=1 len=1 lkey=w2
			wc 1 LOC_PROT_ERR
			state ERR`},
	})
}

// A batch that several queue pairs share may borrow payload of another queue pair from a region
// that a local request takes away.
func TestALocalRequestWaitsForAnEmptyBatch(t *testing.T) {
	s := newScript(t, nil)
	s.run(bound)
	key := s.windows["w2"].RKey()
	if err := s.qp.SQ.Push(&qp.SendWR{ID: 1, Opcode: qp.WRLocalInv, Imm: key}); err != nil {
		t.Fatal(err)
	}
	s.batch.AppendFrame()
	if more := s.rc.Transmit(s.now, nil, s.batch, 64); !more || s.keys.Lookup(key) == nil {
		t.Errorf("there is more to do: %v; the key is open: %v", more, s.keys.Lookup(key) != nil)
	}
	s.batch.Reset()
	if more := s.rc.Transmit(s.now, nil, s.batch, 64); more || s.keys.Lookup(key) != nil {
		t.Errorf("with an empty batch there is more to do: %v; the key is open: %v", more, s.keys.Lookup(key) != nil)
	}
}
