package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// scenario is a script, and the rule that it shows.
type scenario struct {
	rule   string
	adjust func(*qp.Attr, *Config)
	script string
}

func runScenarios(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		t.Run(s.rule, func(t *testing.T) { newScript(t, s.adjust).run(s.script) })
	}
}

func TestRequesterLimits(t *testing.T) {
	small := func(a *qp.Attr, c *Config) { c.Window = 4; c.AckEvery = 2 }
	runScenarios(t, []scenario{
		{"no more than the window is unacknowledged, and the packet that fills it asks for an ACK", small, `
			post write id=1 len=1600
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1600
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256 ack
			< ACKNOWLEDGE psn=101
			> RDMA_WRITE_MIDDLE psn=104 len=256
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=105
			> RDMA_WRITE_LAST psn=106 len=64 ack
			< ACKNOWLEDGE psn=106
			wc 1 SUCCESS RDMA_WRITE`},
		{"no more than max_rd_atomic READs are outstanding (9.4.4)", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			post read id=3 len=1
			post send id=4 len=1
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			> RDMA_READ_REQUEST psn=102 va=0x40000 dma=1 ack
			> SEND_ONLY psn=103 len=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			wc 2 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=102 len=1
			wc 3 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=103
			wc 4 SUCCESS SEND`},
		{"a long READ is asked for in chunks that fit the window", small, `
			post read id=1 len=1281
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=512 ack
			> RDMA_READ_REQUEST psn=102 va=0x40200 dma=512 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_LAST psn=101 len=256
			> RDMA_READ_REQUEST psn=104 va=0x40400 dma=257 ack
			< RDMA_READ_RESPONSE_FIRST psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			< RDMA_READ_RESPONSE_FIRST psn=104 len=256
			< RDMA_READ_RESPONSE_LAST psn=105 len=1
			wc 1 SUCCESS RDMA_READ`},
		{"where only one READ may be outstanding it is asked for all that the window takes",
			func(a *qp.Attr, c *Config) { a.MaxRdAtomic = 1 }, `
			post read id=1 len=4097
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=4096 ack`},
		{"a READ that just fits the window is asked for", nil, `
			post read id=1 len=4097
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=2048 ack
			> RDMA_READ_REQUEST psn=108 va=0x40800 dma=2048 ack`},
		{"a bad local key fails its request only after those before it", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1 badkey
			post send id=3 len=1
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			wc 2 LOC_PROT_ERR
			wc 3 WR_FLUSH_ERR
			state ERR`},
		{"a region that goes away under a message fails the message", small, `
			post write id=1 len=1600
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1600
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256 ack
			dereg rw
			< ACKNOWLEDGE psn=103
			wc 1 LOC_PROT_ERR
			state ERR`},
	})
}

func TestRequesterSendsAtomics(t *testing.T) {
	runScenarios(t, []scenario{
		{"an atomic takes one PSN and completes with its answer (9.4.5)", nil, `
			post cas id=1 len=8 cmp=7 swap=9
			> COMPARE_SWAP psn=100 va=0x40000 add=9 cmp=7 ack
			post faa id=2 len=8 add=3
			> FETCH_ADD psn=101 va=0x40000 add=3 cmp=0 ack
			< ATOMIC_ACKNOWLEDGE psn=100 value=7
			wc 1 SUCCESS COMP_SWAP
			< ATOMIC_ACKNOWLEDGE psn=101 value=9
			wc 2 SUCCESS FETCH_ADD`},
		{"atomics count against max_rd_atomic (9.4.5)", nil, `
			post faa id=1 len=8 add=3
			> FETCH_ADD psn=100 va=0x40000 add=3 cmp=0 ack
			post read id=2 len=8
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=8 ack
			post faa id=3 len=8 add=4
			< ATOMIC_ACKNOWLEDGE psn=100
			wc 1 SUCCESS FETCH_ADD
			> FETCH_ADD psn=102 va=0x40000 add=4 cmp=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=8
			wc 2 SUCCESS RDMA_READ
			< ATOMIC_ACKNOWLEDGE psn=102
			wc 3 SUCCESS FETCH_ADD`},
		{"a lost answer is asked for again with the same PSN", nil, `
			post faa id=1 len=8 add=3
			> FETCH_ADD psn=100 va=0x40000 add=3 cmp=0 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			> FETCH_ADD psn=100 va=0x40000 add=3 cmp=0 ack
			> SEND_ONLY psn=101 len=1 ack
			< ATOMIC_ACKNOWLEDGE psn=100
			wc 1 SUCCESS FETCH_ADD
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
	})
}
