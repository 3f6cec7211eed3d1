package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

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

// C9-92: the payload lengths that the position of a packet in its message permits.
func TestResponderChecksPayloadLengths(t *testing.T) {
	const first, middle, last, only = "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY"
	for _, c := range []struct {
		op    string
		len   int
		fault bool
	}{
		{first, 0, true}, {first, 255, true}, {first, 256, false}, {first, 257, true},
		{middle, 0, true}, {middle, 255, true}, {middle, 256, false}, {middle, 257, true},
		{last, 0, true}, {last, 1, false}, {last, 256, false}, {last, 257, true},
		{only, 0, false}, {only, 1, false}, {only, 256, false}, {only, 257, true},
	} {
		for _, kind := range []string{"SEND", "RDMA_WRITE"} {
			op := kind + strings.TrimPrefix(c.op, "SEND")
			t.Run(fmt.Sprintf("%s of %d bytes", op, c.len), func(t *testing.T) {
				s := newScript(t, nil)
				s.run("recv id=1 len=2000")
				psn, dma := 100, c.len
				switch c.op {
				case first:
					dma += 256
				case middle, last:
					dma = max(dma, 1) + 256
					if c.op == middle {
						dma += 256
					}
					s.run(fmt.Sprintf("< %s_FIRST psn=100 len=256 va=0x10000 dma=%d rkey=rw", kind, dma))
					psn++
				}
				s.step(fmt.Sprintf("< %s psn=%d len=%d va=0x10000 dma=%d rkey=rw", op, psn, c.len, dma))
				want := Accepted
				if c.fault {
					want = InvalidRequest
				}
				if s.verdict != want {
					t.Errorf("the verdict is %v, want %v", s.verdict, want)
				}
			})
		}
	}
}

func TestResponderChecksMessageLengths(t *testing.T) {
	write := func(op string, payload, dma int) string {
		return fmt.Sprintf("< RDMA_WRITE_%s psn=100 len=%d va=0x10000 dma=%d rkey=rw ack", op, payload, dma)
	}
	runScenarios(t, []scenario{
		refusal("a WRITE with fewer bytes than its length (9.7.4.1.6)", "inv", write("ONLY", 4, 8), nil),
		refusal("a WRITE with more bytes than its length (9.7.4.1.6)", "inv", write("ONLY", 8, 4), nil),
		refusal("a WRITE of nothing with bytes (9.7.4.1.6)", "inv", write("ONLY", 4, 0), nil),
		refusal("a WRITE FIRST with nothing left for LAST", "inv", write("FIRST", 256, 256), nil),
		refusal("a WRITE longer than 2^31 (C9-94)", "inv", write("FIRST", 256, 1<<31+1), nil),
		refusal("a READ longer than 2^31 (C9-94)", "inv",
			`< RDMA_READ_REQUEST psn=100 va=0x10000 dma=2147483649 rkey=rw ack`, nil),
		refusal("a WRITE of 2^31 is not too long, but this region is shorter (C9-94)", "acc",
			write("FIRST", 256, 1<<31), nil),
		refusal("a READ of 2^31 is not too long, but this region is shorter (C9-94)", "acc",
			`< RDMA_READ_REQUEST psn=100 va=0x10000 dma=2147483648 rkey=rw ack`, nil),
		{"a WRITE whose MIDDLE has all that is left", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=512 rkey=rw
			< RDMA_WRITE_MIDDLE psn=101 len=256 ack
			verdict invalid_request
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
		{"a WRITE whose LAST is too short", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=512 rkey=rw
			< RDMA_WRITE_LAST psn=101 len=255 ack
			verdict invalid_request
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
		{"a WRITE of nothing needs no valid address and no valid key (C9-88)", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0 va=0x99 dma=0 rkey=0x77 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1`},
		{"a READ of nothing needs no valid address and no valid key and has an empty answer (C9-88)", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x99 dma=0 rkey=0x77 ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=0 syn=ack msn=1`},
		{"a SEND fills its receive to the last byte", nil, `
			recv id=1 len=257
			< SEND_FIRST psn=100 len=256
			< SEND_LAST psn=101 len=1 ack
			wc 1 SUCCESS RECV len=257
			> ACKNOWLEDGE psn=101 syn=ack msn=1`},
		{"a SEND of one byte more than its receive is an invalid request and a local length error (9.7.4.1.6)", nil, `
			recv id=1 len=257
			< SEND_FIRST psn=100 len=256 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=0
			< SEND_LAST psn=101 len=2 ack
			wc 1 LOC_LEN_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
		{"a receive that was being filled is flushed when a packet has the wrong length", nil, `
			recv id=1 len=1000
			< SEND_FIRST psn=100 len=256
			< SEND_LAST psn=101 len=0 ack
			event QP_REQ_ERR
			wc 1 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
	})
}

// The same rules at the requester: the lengths of READ responses.
func TestRequesterChecksLengthsOfAnswers(t *testing.T) {
	read := `
			post read id=1 len=600
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=600 ack
	`
	wrong := `
			verdict bad_response
			wc 1 LOC_LEN_ERR
			state ERR`
	runScenarios(t, []scenario{
		{"FIRST shorter than the path MTU is a local length error (9.7.5.2)", nil, read + `
			< RDMA_READ_RESPONSE_FIRST psn=100 len=255` + wrong},
		{"MIDDLE longer than the path MTU", nil, read + `
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=257` + wrong},
		{"LAST with less than the rest", nil, read + `
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_LAST psn=102 len=87` + wrong},
		{"LAST with more than the rest", nil, read + `
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_LAST psn=102 len=89` + wrong},
		{"bytes for a READ of nothing", nil, `
			post read id=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1` + wrong},
		{"an ONLY that is longer than the READ", nil, `
			post read id=1 len=10
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=10 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=11` + wrong},
	})
}

// The opcode of a READ response tells whether it begins a response (IBA 9.9.2). A response may
// begin where its READ request began: the first one, or one that asked for the missing end.
func TestRequesterChecksWhereAnswersBegin(t *testing.T) {
	read := `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
	`
	first := read + `
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
	`
	repeated := first + `
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=768 ack
	`
	wrong := `
			verdict bad_response
			wc 1 BAD_RESP_ERR
			state ERR`
	pairs := func(_ *qp.Attr, c *Config) { c.ReadChunk = 2 }
	two := `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=512 ack
			> RDMA_READ_REQUEST psn=102 va=0x40200 dma=512 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_LAST psn=101 len=256
	`
	runScenarios(t, []scenario{
		{"MIDDLE at the beginning", nil, read + `
			< RDMA_READ_RESPONSE_MIDDLE psn=100 len=256` + wrong},
		{"LAST for a READ of one packet", nil, `
			post read id=1 len=10
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=10 ack
			< RDMA_READ_RESPONSE_LAST psn=100 len=10` + wrong},
		{"a second FIRST", nil, first + `
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256` + wrong},
		{"ONLY at the end of a response", nil, first + `
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_ONLY psn=103 len=256` + wrong},
		{"the answer to a repeated request begins anew, as that of an RNIC", nil, repeated + `
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"it continues, as that of Linux rxe", nil, repeated + `
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"the first answer is late, and the second one continues behind it", nil, repeated + `
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			verdict duplicate
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"an answer begins behind the beginning of the repeated request", nil, repeated + `
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			< RDMA_READ_RESPONSE_FIRST psn=102 len=256` + wrong},
		{"only the opcode of the expected PSN is judged", nil, read + `
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=100 len=256
			verdict duplicate
			state RTS`},
		{"the answer to each request of a long READ begins with FIRST", pairs, two + `
			< RDMA_READ_RESPONSE_FIRST psn=102 len=256
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ`},
		{"MIDDLE at the beginning of the second request of a long READ", pairs, two + `
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256` + wrong},
	})
}
