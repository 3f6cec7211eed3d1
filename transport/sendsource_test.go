package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// sendRing is a send source that does not use the queues of package qp: a ring of fixed slots
// whose producer index the program advances, and whose consumer index the device does.
type sendRing struct {
	slots                       [8]qp.SendWR
	producer, fetched, consumer uint32
}

// junk is the opcode of a slot that holds no request.
const junk = qp.WROpcode(0xff)

func (r *sendRing) Push(wr *qp.SendWR) bool {
	if r.producer-r.consumer == uint32(len(r.slots)) {
		return false
	}
	r.slots[r.producer%uint32(len(r.slots))] = *wr
	r.producer++
	return true
}

func (r *sendRing) Fetch(wr *qp.SendWR) qp.FetchStatus {
	if r.fetched == r.producer {
		return qp.FetchNone
	}
	slot := &r.slots[r.fetched%uint32(len(r.slots))]
	r.fetched++
	if slot.Opcode == junk {
		wr.ID = slot.ID
		return qp.FetchBad
	}
	*wr = *slot
	return qp.FetchGot
}

func (r *sendRing) Retire(n int) { r.consumer += uint32(n) }

func (r *sendRing) Reset() { r.fetched, r.consumer = r.producer, r.producer }

// refill fetches from the source, as the owner of a machine does before it calls Transmit.
func (s *script) refill() {
	if n, _ := s.qp.Fetch(); n > 0 {
		s.rc.Posted()
	}
}

func TestSendsFromASourceOfTheCaller(t *testing.T) {
	runRC(t, []scenario{
		{"requests leave in order, as far as the send queue has room, and others when it has again", nil, `
			sends depth=2
			post write id=1 len=10
			> RDMA_WRITE_ONLY psn=100 len=10 va=0x40000 dma=10 ack
			post write id=2 len=10 silent
			> RDMA_WRITE_ONLY psn=101 len=10 va=0x40000 dma=10 ack
			post write id=3 len=10
			retired 0
			< ACKNOWLEDGE psn=100 syn=ack
			wc 1 SUCCESS RDMA_WRITE
			> RDMA_WRITE_ONLY psn=102 len=10 va=0x40000 dma=10 ack
			retired 1
			< ACKNOWLEDGE psn=102 syn=ack
			wc 3 SUCCESS RDMA_WRITE
			retired 3`},
		{"what is no request fails in its turn, and those behind it are flushed", nil, `
			sends depth=8
			post write id=1 len=10
			> RDMA_WRITE_ONLY psn=100 len=10 va=0x40000 dma=10 ack
			post junk id=2
			post write id=3 len=10
			< ACKNOWLEDGE psn=100 syn=ack
			wc 1 SUCCESS RDMA_WRITE
			wc 2 LOC_QP_OP_ERR
			wc 3 WR_FLUSH_ERR
			state ERR
			retired 3`},
		{"a request that the queue pair does not take fails with it as well", nil, `
			sends depth=8
			post bad-flush id=1
			wc 1 LOC_QP_OP_ERR
			state ERR`},
		{"ERR flushes what is in it, and what comes later", nil, `
			sends depth=2
			modify ERR
			post write id=1 len=10
			wc 1 WR_FLUSH_ERR
			post junk id=2
			wc 2 WR_FLUSH_ERR
			retired 2`},
		{"RESET frees all places without a completion", nil, `
			sends depth=1
			post write id=1 len=10
			> RDMA_WRITE_ONLY psn=100 len=10 va=0x40000 dma=10 ack
			post write id=2 len=10
			modify RESET
			retired 2`},
	})
}
