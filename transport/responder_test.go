package transport

import (
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
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
		{"a READ is answered with FIRST, MIDDLE, LAST and takes their PSNs", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=700 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_LAST psn=102 len=188 syn=ack msn=1
			recv id=1 len=1
			< SEND_ONLY psn=103 len=1 ack
			wc 1 SUCCESS RECV len=1
			> ACKNOWLEDGE psn=103 syn=ack msn=2`},
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
	})
}

// While HoldReplays is set, the responses of a READ are held back once twice as many packets as it
// has were sent again, and 128 more. Those behind them in PSN order wait with them; another READ
// and a request of this end do not.
func TestResponsesThatAreAskedForOftenAreHeldBack(t *testing.T) {
	s := newScript(t, nil)
	rc := s.rc.(*RC)
	receive := func(line string) { s.rc.Receive(s.now, s.parse(strings.Fields(line))) }
	transmit := func() (ops []bth.Opcode, more bool) {
		more = s.rc.Transmit(s.now, nil, s.batch, 64)
		for i := range s.batch.Len() {
			ops = append(ops, bth.Opcode(s.batch.At(i).Header[0]))
		}
		s.batch.Reset()
		return ops, more
	}
	check := func(after string, want []bth.Opcode, wantRepeated int, wantHeld bool) {
		t.Helper()
		ops, more := transmit()
		repeated, held := rc.Replayed()
		if !slices.Equal(ops, want) || repeated != wantRepeated || held != wantHeld || more {
			t.Errorf("%s: sent %v, repeated %d, held %t, more %t; want %v, %d, %t, and no more",
				after, ops, repeated, held, more, want, wantRepeated, wantHeld)
		}
	}
	const read = "RDMA_READ_REQUEST psn=101 va=0x10000 dma=8 rkey=rw ack"
	only := []bth.Opcode{bth.RCReadResponseOnly}
	receive("RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack")
	transmit()
	rc.HoldReplays(true)
	for range 1 + holdAfterResent*(1+shortReadPackets) {
		receive(read)
		check("a READ that was not asked for often", only, 0, false)
	}
	receive(read)
	check("a READ that was", nil, 0, true)
	receive("RDMA_WRITE_ONLY psn=102 len=4 va=0x10000 dma=4 rkey=rw ack")
	check("an ACK behind it", nil, 0, true)
	s.post([]string{"send", "id=1", "len=4"})
	check("a request of this end", []bth.Opcode{bth.RCSendOnly}, 0, true)
	rc.HoldReplays(false)
	check("without Hold", []bth.Opcode{bth.RCReadResponseOnly, bth.RCAck}, 1, false)
	rc.HoldReplays(true)
	receive(strings.ReplaceAll(read, "101", "103"))
	check("the next READ", only, 0, false)
	receive(read)
	receive("RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack")
	check("duplicates of the READ and of a WRITE", nil, 0, true)
}

func TestAQueuePairAnswersUntilTheLastReadResponseIsSent(t *testing.T) {
	s := newScript(t, nil)
	rc := s.rc.(*RC)
	if rc.HasResponses() {
		t.Error("Answers is true before any request")
	}
	s.rc.Receive(s.now, s.parse(strings.Fields("RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=rw ack")))
	if rc.HasResponses() {
		t.Error("Answers is true with nothing but an acknowledgement to send")
	}
	s.rc.Transmit(s.now, nil, s.batch, 64)
	s.batch.Reset()
	s.rc.Receive(s.now, s.parse(strings.Fields("RDMA_READ_REQUEST psn=101 va=0x10000 dma=700 rkey=rw ack")))
	for left := 3; left >= 0; left-- {
		if got := rc.HasResponses(); got != (left > 0) {
			t.Errorf("Answers is %v with %d responses left to send", got, left)
		}
		s.rc.Transmit(s.now, nil, s.batch, 1)
		s.batch.Reset()
	}
}
