package transport

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// IBA 9.7.4.1.3: which request opcode may follow which. A message must end before the next one
// begins, whatever their kinds.
func TestResponderKeepsTheOrderOfOpcodes(t *testing.T) {
	inSend := []bth.Opcode{bth.RCSendMiddle, bth.RCSendLast, bth.RCSendLastImm, bth.RCSendLastInv}
	inWrite := []bth.Opcode{bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteLastImm}
	// These need rights or lengths of their own and may be refused for them.
	extended := []bth.Opcode{bth.RCFlush, bth.RCAtomicWrite}
	for _, before := range []struct {
		name    string
		packets []bth.Opcode
		may     []bth.Opcode // opcodes that may follow
	}{
		{"at the beginning", nil, nil},
		{"after SEND FIRST", []bth.Opcode{bth.RCSendFirst}, inSend},
		{"after SEND MIDDLE", []bth.Opcode{bth.RCSendFirst, bth.RCSendMiddle}, inSend},
		{"after SEND LAST", []bth.Opcode{bth.RCSendFirst, bth.RCSendLast}, nil},
		{"after SEND ONLY", []bth.Opcode{bth.RCSendOnly}, nil},
		{"after WRITE FIRST", []bth.Opcode{bth.RCWriteFirst}, inWrite},
		{"after WRITE MIDDLE", []bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle}, inWrite},
		{"after WRITE LAST",
			[]bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast}, nil},
		{"after READ", []bth.Opcode{bth.RCReadRequest}, nil},
		{"after FETCH ADD", []bth.Opcode{bth.RCFetchAdd}, nil},
	} {
		for op := range bth.Opcodes() {
			info := op.Info()
			if info.Service != bth.ServiceRC || !info.Request() {
				continue
			}
			may := slices.Contains(before.may, op)
			if before.may == nil {
				may = !slices.Contains(inSend, op) && !slices.Contains(inWrite, op)
			}
			t.Run(fmt.Sprintf("%s %v", before.name, op), func(t *testing.T) {
				s := newScript(t, nil)
				s.run("recv id=1 len=2000\nrecv id=2 len=2000")
				psn := bth.PSN(scriptPSN)
				total := len(before.packets)
				if before.may != nil && info.Ends() {
					total++
				} else if before.may != nil {
					total += 2
				}
				for _, b := range before.packets {
					psn = s.follow(b, psn, total)
					if s.verdict != Accepted {
						t.Fatalf("%v was not accepted: %v", b, s.verdict)
					}
				}
				s.got = nil
				s.follow(op, psn, max(total, 2))
				if refused := s.verdict == InvalidRequest; refused == may && !slices.Contains(extended, op) {
					t.Errorf("the verdict is %v", s.verdict)
				}
				if !may && s.qp.State() != qp.ERR {
					t.Errorf("the queue pair is in %v, want ERR", s.qp.State())
				}
			})
		}
	}
}

// follow delivers a well-formed packet with opcode op, part of a message of total packets if op
// needs several, and lets the machine answer. It returns the next PSN.
func (s *script) follow(op bth.Opcode, psn bth.PSN, total int) bth.PSN {
	info := op.Info()
	p := &bth.Packet{Opcode: op, PSN: psn, DestQP: 0x11, PKey: 0xffff, MigReq: true, AckReq: true}
	p.RETH = bth.RETH{VA: 0x10000, RKey: s.regions["rw"].RKey(), DMALen: 8}
	p.AtomicETH = bth.AtomicETH{VA: 0x10000, RKey: p.RETH.RKey}
	switch {
	case info.Pos == bth.First:
		p.Payload, p.RETH.DMALen = make([]byte, 256), uint32(total)*256
	case info.Pos == bth.Middle || info.Pos == bth.Last:
		p.Payload = make([]byte, 256)
	case info.Payload:
		p.Payload = make([]byte, 8)
	}
	s.verdict = s.rc.Receive(s.now, p)
	s.transmit()
	return psn.Add(1)
}

// IBA 9.5 and 10.8.3: requests are executed and complete in the order in which they were posted;
// responses are sent in PSN order.
func TestRequestsKeepTheirOrder(t *testing.T) {
	runScenarios(t, []scenario{
		{"an opcode out of order fails the receive that was being filled and flushes the rest", nil, `
			recv id=1 len=1000
			recv id=2 len=1000
			< SEND_FIRST psn=100 len=256
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			event QP_REQ_ERR
			wc 1 WR_FLUSH_ERR
			wc 2 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			state ERR`},
		{"a SEND behind a READ completes behind it", nil, `
			post read id=1 len=300
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=300 ack
			post send id=2 len=1
			> SEND_ONLY psn=102 len=1 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_LAST psn=101 len=44
			wc 1 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=102
			wc 2 SUCCESS SEND`},
		{"a READ behind a SEND completes the SEND first (9.7.5.1.2)", nil, `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
			post read id=2 len=1
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=1 ack
			< RDMA_READ_RESPONSE_ONLY psn=101 len=1
			wc 1 SUCCESS SEND
			wc 2 SUCCESS RDMA_READ`},
		{"an atomic behind a WRITE completes the WRITE first (9.7.5.1.2)", nil, `
			post write id=1 len=1
			> RDMA_WRITE_ONLY psn=100 len=1 va=0x40000 dma=1 ack
			post faa id=2 len=8 add=1
			> FETCH_ADD psn=101 va=0x40000 add=1 cmp=0 ack
			< ATOMIC_ACKNOWLEDGE psn=101 value=5
			wc 1 SUCCESS RDMA_WRITE
			wc 2 SUCCESS FETCH_ADD`},
		{"a fenced request waits for all READs and atomics before it (10.8.3.3)", nil, `
			post read id=1 len=1
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			post faa id=2 len=8 add=1
			> FETCH_ADD psn=101 va=0x40000 add=1 cmp=0 ack
			post send id=3 len=1 fence
			post send id=4 len=1
			< RDMA_READ_RESPONSE_ONLY psn=100 len=1
			wc 1 SUCCESS RDMA_READ
			< ATOMIC_ACKNOWLEDGE psn=101 value=0
			wc 2 SUCCESS FETCH_ADD
			> SEND_ONLY psn=102 len=1 ack
			> SEND_ONLY psn=103 len=1 ack
			< ACKNOWLEDGE psn=103
			wc 3 SUCCESS SEND
			wc 4 SUCCESS SEND`},
		{"an ACK does not overtake the answer to a READ before it", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=600 rkey=rw ack
			<+ RDMA_WRITE_ONLY psn=103 len=0 ack
			send 2
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			send 2
			> RDMA_READ_RESPONSE_LAST psn=102 len=88 syn=ack msn=1
			> ACKNOWLEDGE psn=103 syn=ack msn=2`},
		{"an ACK that is older than a READ's answer leaves before it", nil, `
			<+ RDMA_WRITE_ONLY psn=100 len=0 ack
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=ack msn=2
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2`},
		{"a NAK does not overtake the answer to a READ before it", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw ack
			< SEND_ONLY psn=102 len=1 ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=44 syn=ack msn=1
			> ACKNOWLEDGE psn=102 syn=rnr12 msn=1`},
		{"two READs are answered one after the other", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw ack
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=300 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=44 syn=ack msn=1
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=103 len=44 syn=ack msn=2`},
	})
}
