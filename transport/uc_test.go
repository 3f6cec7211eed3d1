package transport

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

func runUC(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		t.Run(s.rule, func(t *testing.T) { newScriptOf(t, qp.UC, s.adjust).run(s.script) })
	}
}

func TestUnreliableConnectionSends(t *testing.T) {
	runUC(t, []scenario{
		{"a request is complete when it has left; nothing asks for an ACK (9.8.2)", nil, `
			post send id=1 len=513 se
			> UC_SEND_FIRST psn=100 len=256
			> UC_SEND_MIDDLE psn=101 len=256
			> UC_SEND_LAST psn=102 len=1 se
			wc 1 SUCCESS SEND
			post writeimm id=2 len=4 imm=7
			> UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE psn=103 len=4 va=0x40000 dma=4 imm=7
			wc 2 SUCCESS RDMA_WRITE`},
		{"a READ cannot be sent", nil, `
			post read id=1 len=4
			wc 1 LOC_QP_OP_ERR
			state SQE`},
		{"a bad local key fails the request and the send queue", nil, `
			post send id=1 len=4 badkey
			wc 1 LOC_PROT_ERR
			state SQE
			post send id=2 len=4
			wc 2 WR_FLUSH_ERR`},
		{"an answer is not for a UC queue pair", nil, `
			< ACKNOWLEDGE psn=100
			verdict wrong_service`},
	})
}

func TestUnreliableConnectionReceives(t *testing.T) {
	runUC(t, []scenario{
		{"messages in order fill receives and memory, and are not acknowledged", nil, `
			recv id=1 len=1000
			recv id=2 len=0
			< UC_SEND_FIRST psn=100 len=256
			< UC_SEND_LAST psn=101 len=10 se
			wc 1 SUCCESS RECV len=266 se
			< UC_RDMA_WRITE_FIRST psn=102 len=256 va=0x10000 dma=300 rkey=rw
			< UC_RDMA_WRITE_LAST_WITH_IMMEDIATE psn=103 len=44 imm=5
			wc 2 SUCCESS RECV_RDMA_WITH_IMM len=300 imm=5
			< UC_RDMA_WRITE_ONLY psn=104 len=0 dma=0
			verdict accepted`},
		{"a gap drops the rest of the message; its receive serves the next (9.8.2)", nil, `
			recv id=1 len=1000
			< UC_SEND_FIRST psn=100 len=256
			< UC_SEND_LAST psn=102 len=10
			verdict out_of_sequence
			< UC_SEND_MIDDLE psn=103 len=256
			verdict out_of_sequence
			< UC_SEND_ONLY psn=104 len=3
			wc 1 SUCCESS RECV len=3`},
		{"a gap before FIRST costs nothing more", nil, `
			recv id=1 len=1000
			< UC_SEND_ONLY psn=200 len=3
			verdict accepted
			wc 1 SUCCESS RECV len=3`},
		{"FIRST in the middle of a message begins a new one", nil, `
			recv id=1 len=1000
			< UC_SEND_FIRST psn=100 len=256
			< UC_SEND_FIRST psn=101 len=256
			< UC_SEND_LAST psn=102 len=1
			wc 1 SUCCESS RECV len=257`},
		{"a message without a receive is dropped, and nothing says so to the peer", nil, `
			< UC_SEND_FIRST psn=100 len=256
			verdict no_receive
			recv id=1 len=1000
			< UC_SEND_LAST psn=101 len=1
			verdict out_of_sequence
			< UC_SEND_ONLY psn=102 len=1
			wc 1 SUCCESS RECV len=1`},
		{"a message that is longer than its receive is dropped", nil, `
			recv id=1 len=10
			< UC_SEND_ONLY psn=100 len=11
			verdict invalid_request
			< UC_SEND_ONLY psn=101 len=10
			wc 1 SUCCESS RECV len=10`},
		{"what follows in a message that was dropped is dropped too", nil, `
			recv id=1 len=10
			< UC_SEND_FIRST psn=100 len=256
			verdict invalid_request
			< UC_SEND_LAST psn=101 len=1
			verdict out_of_sequence`},
		{"the longest message has 2^31 bytes", nil, `
			< UC_RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=2147483648 rkey=rw
			verdict access_refused
			< UC_RDMA_WRITE_FIRST psn=101 len=256 va=0x10000 dma=2147483649 rkey=rw
			verdict invalid_request`},
		{"a WRITE that is not allowed is dropped", nil, `
			< UC_RDMA_WRITE_ONLY psn=100 len=4 va=0x200000 dma=4 rkey=ro
			verdict access_refused
			< UC_RDMA_WRITE_ONLY psn=101 len=4 va=0x10ffffe dma=4 rkey=rw
			verdict access_refused
			< UC_RDMA_WRITE_ONLY psn=102 len=4 va=0x10000 dma=8 rkey=rw
			verdict invalid_request
			< UC_RDMA_WRITE_FIRST psn=103 len=256 va=0x10000 dma=256 rkey=rw
			verdict invalid_request
			< UC_RDMA_WRITE_FIRST psn=104 len=4 va=0x10000 dma=256 rkey=rw
			verdict invalid_request
			state RTS`},
		{"a WRITE to a queue pair without remote write is dropped",
			func(a *qp.Attr, c *Config) { a.Access &^= mr.RemoteWrite }, `
			< UC_RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw
			verdict invalid_request`},
		{"memory that goes away under a WRITE ends the message", nil, `
			< UC_RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=300 rkey=rw
			dereg rw
			< UC_RDMA_WRITE_LAST psn=101 len=44
			verdict access_refused`},
		{"a receive whose memory is gone fails the queue pair", nil, `
			recv id=1 len=10
			dereg rw
			< UC_SEND_ONLY psn=100 len=1
			verdict local_error
			wc 1 LOC_PROT_ERR
			state ERR`},
	})
}

func TestAMessageDoesNotGoOnAfterReconnecting(t *testing.T) {
	s := newScriptOf(t, qp.UC, nil)
	s.run(`
		recv id=1 len=1000
		< UC_SEND_FIRST psn=100 len=256
		verdict accepted`)
	s.reconnect()
	s.run(`
		recv id=2 len=1000
		< UC_SEND_LAST psn=100 len=4
		verdict out_of_sequence`)
}

func TestWritesOnAnUnreliableConnectionReachMemory(t *testing.T) {
	s := newScriptOf(t, qp.UC, nil)
	memory := make([]byte, 600)
	region, err := s.keys.Register(s.qp.PD, mr.Bytes(memory), 0x500000, 600, mr.LocalWrite|mr.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	s.regions["mine"] = region
	want := make([]byte, 600)
	for i, words := range []string{"UC_RDMA_WRITE_FIRST psn=100 len=256 va=0x500001 dma=514 rkey=mine",
		"UC_RDMA_WRITE_MIDDLE psn=101 len=256", "UC_RDMA_WRITE_LAST psn=102 len=2"} {
		p := s.parse(strings.Fields(words))
		for k := range p.Payload {
			p.Payload[k] = byte(k ^ i*7)
		}
		copy(want[1+256*i:], p.Payload)
		if v := s.rc.Receive(s.now, p); v != Accepted {
			t.Fatalf("%s: %v", words, v)
		}
	}
	if !bytes.Equal(memory, want) {
		t.Error("memory is not what was written")
	}
}
