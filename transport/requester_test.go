package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// scenario is a script under the rule that it shows.
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

func TestRequesterCutsMessages(t *testing.T) {
	runScenarios(t, []scenario{
		{"a message without data is one ONLY packet (9.2.1)", nil, `
			post send id=1
			> SEND_ONLY psn=100 len=0 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"a message of exactly one path MTU is ONLY (9.7.2)", nil, `
			post send id=1 len=256 se
			> SEND_ONLY psn=100 len=256 ack se
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"FIRST and MIDDLE are full, LAST has the rest, only LAST asks for ACK and event (9.7.2)", nil, `
			post send id=1 len=513 se
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			> SEND_LAST psn=102 len=1 ack se
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS SEND`},
		{"immediate data stands in the last packet of a SEND", nil, `
			post sendimm id=1 len=257 imm=7
			> SEND_FIRST psn=100 len=256
			> SEND_LAST_WITH_IMMEDIATE psn=101 len=1 imm=7 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"the RETH of a WRITE has the whole length and stands in FIRST only (9.3.3)", nil, `
			post write id=1 len=300
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=300
			> RDMA_WRITE_LAST psn=101 len=44 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE`},
		{"a WRITE makes no solicited event, a WRITE with immediate may (9.2.3)", nil, `
			post write id=1 len=4 se
			> RDMA_WRITE_ONLY psn=100 len=4 va=0x40000 dma=4 ack
			post writeimm id=2 len=4 imm=9 se
			> RDMA_WRITE_ONLY_WITH_IMMEDIATE psn=101 len=4 va=0x40000 dma=4 imm=9 ack se
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE
			wc 2 SUCCESS RDMA_WRITE`},
		{"a READ takes as many PSNs as it has response packets (9.4.4)", nil, `
			post read id=1 len=600
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=600 ack
			post send id=2 len=1
			> SEND_ONLY psn=103 len=1 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_LAST psn=102 len=88
			wc 1 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=103
			wc 2 SUCCESS SEND`},
		{"a READ of nothing still asks and is answered", nil, `
			post read id=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=0
			wc 1 SUCCESS RDMA_READ`},
		{"an unsignaled request leaves no completion when it succeeds (10.8.6)", nil, `
			post send id=1 len=1 silent
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
	})
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
		{"one ACK completes all requests before it (9.7.5.1.2)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post write id=2 len=1
			> RDMA_WRITE_ONLY psn=101 len=1 va=0x40000 dma=1 ack
			post send id=3 len=1
			> SEND_ONLY psn=102 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS RDMA_WRITE
			< ACKNOWLEDGE psn=102
			wc 3 SUCCESS SEND`},
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
		{"a fenced request waits for all READs before it (10.8.3.3)", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post send id=2 len=1 fence
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
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
		{"PSNs wrap at 2^24 inside a message (9.7.1)", func(a *qp.Attr, c *Config) { a.SQPSN = 0xffffff }, `
			post send id=1 len=257
			> SEND_FIRST psn=16777215 len=256
			> SEND_LAST psn=0 len=1 ack
			post read id=2 len=257
			> RDMA_READ_REQUEST psn=1 va=0x40000 dma=257 ack
			< ACKNOWLEDGE psn=0
			wc 1 SUCCESS SEND
			< RDMA_READ_RESPONSE_FIRST psn=1 len=256
			< RDMA_READ_RESPONSE_LAST psn=2 len=1
			wc 2 SUCCESS RDMA_READ`},
	})
}

func TestRequesterGoesBack(t *testing.T) {
	twoPackets := `
			post send id=1 len=512
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
	`
	runScenarios(t, []scenario{
		{"a sequence NAK acknowledges all before its PSN and is answered from there, inside the message (9.7.5.2)", nil, twoPackets + `
			< ACKNOWLEDGE psn=101 syn=seq
			verdict sequence_nak
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"a second NAK for the same PSN before any progress is not answered again", nil, twoPackets + `
			< ACKNOWLEDGE psn=100 syn=seq
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=100 syn=seq
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"an acknowledgement that was overtaken by going back still counts", nil, twoPackets + `
			advance 67108864ns
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			< ACKNOWLEDGE psn=101
			verdict duplicate`},
		{"an acknowledgement of what was never sent is a ghost and changes nothing (9.7.5.1.2)", nil, twoPackets + `
			< ACKNOWLEDGE psn=102
			verdict ghost_response
			< ACKNOWLEDGE psn=8388707
			verdict ghost_response
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
		{"a READ response acknowledges the requests before the READ (9.7.5.1.2)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			wc 1 SUCCESS SEND
			wc 2 SUCCESS RDMA_READ`},
		{"after retry_cnt timeouts without progress the request fails with RETRY_EXC_ERR (9.7.6.1.3)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 67108863ns
			advance 1ns
			> SEND_ONLY psn=100 len=1 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"progress makes the retry budget whole again", nil, twoPackets + `
			advance 134217728ns
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
			> SEND_FIRST psn=100 len=256
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=100
			advance 134217728ns
			> SEND_LAST psn=101 len=256 ack
			> SEND_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND`},
		{"timeouts without progress grow apart, to four times at most (9.7.6.1.3)", func(a *qp.Attr, c *Config) { c.BackoffLimit = 4; a.RetryCnt = 7 }, `
			post send id=1
			> SEND_ONLY psn=100 len=0 ack
			advance 67108864ns
			> SEND_ONLY psn=100 len=0 ack
			advance 134217727ns
			advance 1ns
			> SEND_ONLY psn=100 len=0 ack
			advance 268435455ns
			advance 1ns
			> SEND_ONLY psn=100 len=0 ack
			advance 268435456ns
			> SEND_ONLY psn=100 len=0 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"timeout 0 waits for ever (9.7.6.1.3)", func(a *qp.Attr, c *Config) { a.Timeout = 0 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			advance 1000h
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
	})
}

func TestRequesterWaitsForReceiver(t *testing.T) {
	runScenarios(t, []scenario{
		{"an RNR NAK stops sending for the time of its code, then sending goes on there (9.7.5.2.8)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			verdict rnr_wait
			post send id=3 len=1
			advance 639999ns
			advance 1ns
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			> SEND_ONLY psn=102 len=1 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND
			wc 3 SUCCESS SEND`},
		{"a sequence NAK for what follows does not cut the wait short", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			< ACKNOWLEDGE psn=100 syn=seq
			< ACKNOWLEDGE psn=100 syn=rnr12
			advance 640us
			> SEND_ONLY psn=100 len=1 ack
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS SEND
			wc 2 SUCCESS SEND`},
		{"after rnr_retry waits the request fails with RNR_RETRY_EXC_ERR (9.7.5.2.8)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			wc 1 RNR_RETRY_EXC_ERR
			state ERR`},
		{"rnr_retry 7 waits without limit (9.7.5.2.8)", func(a *qp.Attr, c *Config) { a.RNRRetry = 7 }, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr0
			advance 655360us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr31
			advance 491520us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND`},
		{"an RNR NAK acknowledges all before its PSN", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101 syn=rnr1
			wc 1 SUCCESS SEND
			advance 10us
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			wc 2 SUCCESS SEND`},
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
		return scenario{"NAK " + code + " ends in " + status + " and ERR; those before succeed, those behind are flushed", nil, three + `
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
		{"a READ response of the wrong length is a local length error (9.7.5.2)", nil, `
			post read id=1 len=10
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=10 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=11
			verdict bad_response
			wc 1 LOC_LEN_ERR
			state ERR`},
		{"a READ on a queue pair with max_rd_atomic 0 is a local operation error", func(a *qp.Attr, c *Config) { a.MaxRdAtomic = 0 }, `
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
