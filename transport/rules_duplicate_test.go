package transport

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// IBA 9.7.5.1: if a request that was executed arrives again, its response was lost or the network
// has duplicated it. It is answered again and never executed again.
func TestResponderMeetsDuplicates(t *testing.T) {
	runScenarios(t, []scenario{
		{"a duplicate SEND or WRITE is acknowledged with the newest PSN and not executed (C9-105)", nil, `
			recv id=1 len=10
			recv id=2 len=10
			< SEND_ONLY psn=100 len=1 ack
			wc 1 SUCCESS RECV len=1
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=1 va=0x10000 dma=1 rkey=rw ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			< SEND_ONLY psn=100 len=1
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate READ that names other memory is dropped (9.7.5.1)", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=100 va=0x10008 dma=1 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=4096 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=99 va=0x10000 dma=1 rkey=rw ack
			verdict unknown_duplicate`},
		{"any packet of a message is a duplicate, whether or not it asks for an ACK", nil, `
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=600 rkey=rw
			< RDMA_WRITE_MIDDLE psn=101 len=256
			< RDMA_WRITE_FIRST psn=100 len=256 va=0x10000 dma=600 rkey=rw
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=0
			< RDMA_WRITE_MIDDLE psn=101 len=256
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=ack msn=0
			< RDMA_WRITE_LAST psn=102 len=88 ack
			verdict accepted
			> ACKNOWLEDGE psn=102 syn=ack msn=1`},
		{"duplicates that arrive together share one ACK", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0
			< RDMA_WRITE_ONLY psn=101 len=0
			<+ RDMA_WRITE_ONLY psn=100 len=0 ack
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate takes nothing away from a NAK that waits to be sent", nil, `
			< RDMA_WRITE_ONLY psn=100 len=0
			<+ RDMA_WRITE_ONLY psn=102 len=0
			< RDMA_WRITE_ONLY psn=100 len=0
			verdict duplicate
			> ACKNOWLEDGE psn=101 syn=seq msn=1`},
		{"a duplicate with immediate takes no second receive", nil, `
			recv id=1 len=4
			recv id=2 len=4
			< SEND_ONLY_WITH_IMMEDIATE psn=100 len=4 imm=7 ack
			wc 1 SUCCESS RECV len=4 imm=7
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< SEND_ONLY_WITH_IMMEDIATE psn=100 len=4 imm=7 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< RDMA_WRITE_ONLY_WITH_IMMEDIATE psn=101 len=0 imm=8 ack
			wc 2 SUCCESS RECV_RDMA_WITH_IMM len=0 imm=8
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
	})
}

// C9-110: duplicates are answered in PSN order; one with an earlier PSN interrupts an answer that
// has begun.
func TestResponderAnswersDuplicatesInPSNOrder(t *testing.T) {
	twoReads := `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=2
	`
	runScenarios(t, []scenario{
		{"the later asked for first is answered last", nil, twoReads + `
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=512 rkey=rw ack
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=2`},
		{"an earlier one interrupts an answer that has begun", nil, twoReads + `
			<+ RDMA_READ_REQUEST psn=102 va=0x10000 dma=512 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=2
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=2`},
		{"a READ asked for again while it is answered starts over where the peer asks", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			send 3
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			< RDMA_READ_REQUEST psn=101 va=0x10100 dma=768 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
		{"a READ asked for again from where its answer has not come yet changes nothing", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=102 va=0x10200 dma=512 rkey=rw ack
			verdict duplicate
			< RDMA_READ_REQUEST psn=101 va=0x10100 dma=768 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
		{"a copy of the READ that is being answered does not interrupt the answer", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=768 rkey=rw ack
			send 2
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=768 rkey=rw ack
			verdict duplicate
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=768 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_LAST psn=102 len=256 syn=ack msn=1
			send 64 done
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_LAST psn=102 len=256 syn=ack msn=1`},
		{"neither does a copy of an earlier request for the same READ", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=768 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_LAST psn=102 len=256 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=101 va=0x10100 dma=512 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=768 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_LAST psn=102 len=256 syn=ack msn=1
			send 64 done
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_LAST psn=102 len=256 syn=ack msn=1`},
		{"of several such copies the one that asks for the most is answered", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=102 va=0x10200 dma=512 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=102 len=256 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=101 va=0x10100 dma=768 rkey=rw ack
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			<+ RDMA_READ_REQUEST psn=101 va=0x10100 dma=768 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1
			send 64 done
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
		{"a copy of a READ of which nothing was sent yet asks for nothing more", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			verdict duplicate
			send 64 done
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1`},
		{"the ACK for a duplicate WRITE comes after the READ answers before it", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0 ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2
			<+ RDMA_WRITE_ONLY psn=101 len=0 ack
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			> ACKNOWLEDGE psn=101 syn=ack msn=2`},
		{"a duplicate READ whose memory is gone is a remote access error at its PSN; the connection stays", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0
			dereg rw
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> ACKNOWLEDGE psn=100 syn=acc msn=2
			state RTS
			< RDMA_WRITE_ONLY psn=102 len=0 ack
			> ACKNOWLEDGE psn=102 syn=ack msn=3`},
		{"so is a copy that waited for the end of the answer", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=512 rkey=rw ack
			send 1
			> RDMA_READ_RESPONSE_LAST psn=101 len=256 syn=ack msn=1
			dereg rw
			> ACKNOWLEDGE psn=100 syn=acc msn=1
			state RTS`},
	})
}

// TestDuplicatesOfAReadCostABoundedNumberOfResponses plays a peer that repeats one READ as long
// as it is answered, so that as many responses as possible are sent again.
func TestDuplicatesOfAReadCostABoundedNumberOfResponses(t *testing.T) {
	const packets, mtu = 64, 256
	for name, repeat := range map[string]struct {
		sent int                   // responses between two duplicates
		next func(k uint32) uint32 // start of the next duplicate, after one at k
	}{
		"copies":                       {1, func(uint32) uint32 { return 0 }},
		"copies, each answer complete": {packets, func(uint32) uint32 { return 0 }},
		"always a little further on":   {8, func(k uint32) uint32 { return (k + 1) % packets }},
		"back and forth":               {8, func(k uint32) uint32 { return (k + 37) % packets }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, nil)
			p := bth.Packet{Opcode: bth.RCReadRequest, DestQP: 0x11, PSN: 100, AckReq: true, MigReq: true,
				PKey: defaultPKey}
			responses, refused := 0, 0
			transmit := func(limit int) {
				s.rc.Transmit(s.now, nil, s.batch, limit)
				responses += s.batch.Len()
				s.batch.Reset()
			}
			for k, i := uint32(0), 0; i < 100_000; i++ {
				p.PSN = bth.PSN(100).Add(k)
				p.RETH = bth.RETH{VA: 0x10000 + uint64(k)*mtu, RKey: s.regions["rw"].RKey(),
					DMALen: (packets - k) * mtu}
				if s.rc.Receive(s.now, &p) == UnknownDuplicate {
					refused++
				}
				transmit(repeat.sent)
				k = repeat.next(k)
			}
			for range packets {
				transmit(64)
			}
			// The first transmission, the permitted retransmissions, and the answer that reached
			// the limit.
			if most := packets + maxResent*(packets+shortReadPackets) + packets; responses > most {
				t.Errorf("%d responses to a READ of %d packets and its duplicates, want %d at most", responses,
					packets, most)
			}
			if responses < maxResent*packets {
				t.Errorf("%d responses: a peer that lost so many of them would not have got all", responses)
			}
			if got := s.rc.Counters().ReplaysRefused; refused == 0 || got != uint64(refused) {
				t.Errorf("%d duplicates were refused, %d counted", refused, got)
			}
		})
	}
}

// A READ of one packet is sent again as often as its limit says, and not once more.
func TestAReadIsSentAgainUpToItsBound(t *testing.T) {
	s := newScript(t, nil)
	p := s.parse(strings.Fields("RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack"))
	for sent := range 1 + maxResent*(1+shortReadPackets) {
		if v := s.rc.Receive(s.now, p); v == UnknownDuplicate {
			t.Fatalf("the request is refused when it was answered %d times", sent)
		}
		s.rc.Transmit(s.now, nil, s.batch, 64)
		if s.batch.Len() != 1 {
			t.Fatalf("%d packets left after %d answers, want 1", s.batch.Len(), sent)
		}
		s.batch.Reset()
	}
	if v := s.rc.Receive(s.now, p); v != UnknownDuplicate {
		t.Errorf("the verdict on one request more is %v", v)
	}
	s.transmit()
	s.run("counts duplicate_request=1041 replayed_reads=1040 refused_read_replays=1")
}
