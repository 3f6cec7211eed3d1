package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// The outstanding PSNs of several requesters together are limited. That is a choice of this
// package; the IBA does not require it.
func TestRequestersShareWhatIsOutstanding(t *testing.T) {
	many := func(a *qp.Attr, c *Config) { c.AckEvery = 32; a.Timeout = 18 }
	runScenarios(t, []scenario{
		{"no more than is left is sent, and its last packet asks for an acknowledgement", many, `
			share limit=4 turn=2
			others 1
			post write id=1 len=1280
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1280
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256 ack
			blocked true
			< ACKNOWLEDGE psn=102
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_LAST psn=104 len=256 ack
			blocked false
			< ACKNOWLEDGE psn=104
			wc 1 SUCCESS RDMA_WRITE`},
		{"nothing is begun for less than a turn while others have something outstanding", many, `
			share limit=4 turn=2
			others 3
			post write id=1 len=512
			blocked true
			others 2
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			blocked false
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE`},
		{"alone it goes on with less than a turn", many, `
			share limit=4 turn=4
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			post write id=2 len=512
			> RDMA_WRITE_FIRST psn=102 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE
			wc 2 SUCCESS RDMA_WRITE`},
		{"with nothing outstanding one packet leaves after 100 ms, and a second one not before it is acknowledged",
			many, `
			share limit=4 turn=2
			others 4
			post write id=1 len=512
			blocked true
			advance 99ms
			advance 1ms
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512 ack
			blocked true
			advance 20ms
			others 4
			< ACKNOWLEDGE psn=100
			blocked true
			advance 79ms
			advance 1ms
			> RDMA_WRITE_LAST psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE`},
		{"a READ that is longer than the share is asked for alone", many, `
			share limit=2 turn=1
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			post read id=2 len=256
			blocked true
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_REQUEST psn=104 va=0x40000 dma=256 ack
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			wc 1 SUCCESS RDMA_READ
			< RDMA_READ_RESPONSE_ONLY psn=104 len=256
			wc 2 SUCCESS RDMA_READ`},
		{"atomics and FLUSHes wait for the share as well", many, `
			share limit=2 turn=1
			others 2
			post faa id=1
			blocked true
			others 0
			> FETCH_ADD psn=100 va=0x40000 add=0 cmp=0 ack
			modify ERR
			wc 1 WR_FLUSH_ERR`},
		{"answers and repairs do not wait", many, `
			share limit=4 turn=2
			post write id=1 len=768
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_LAST psn=102 len=256 ack
			others 4
			recv id=7 len=4
			< SEND_ONLY psn=100 len=4 ack
			wc 7 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< ACKNOWLEDGE psn=101 syn=seq
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"a timeout gives back what is not sent again yet", func(a *qp.Attr, c *Config) { a.Timeout = 14 }, `
			share limit=4 turn=1
			others 1
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			others 2
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512 ack
			modify ERR
			wc 1 WR_FLUSH_ERR`},
	})
}

// With other members in the share, the last packet of a Transmit has AckReq: they may use up the
// share before the next packet of this queue pair, which would then never be sent.
func TestLastPacketHasAckReqInUsedShare(t *testing.T) {
	for members, ack := range map[string]string{"1": "", "2": " ack"} {
		s := newScript(t, func(a *qp.Attr, c *Config) { c.AckEvery = 32 })
		s.run("share limit=8 turn=1\nmembers " + members)
		w := qp.SendWR{ID: 1, Opcode: qp.WRWrite, RemoteAddr: 0x40000,
			SGList: []qp.SGE{{Addr: 0x10000, Length: 1024, LKey: s.regions["rw"].LKey()}}}
		if err := s.qp.SQ.Push(&w); err != nil {
			t.Fatal(err)
		}
		s.run(`
			send 2 more
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=101 len=256` + ack + `
			send 2
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_LAST psn=103 len=256 ack`)
	}
}

func TestASharesMembersGiveBackWhatTheyHaveOutstanding(t *testing.T) {
	for _, end := range []string{"modify ERR\nwc 1 WR_FLUSH_ERR", "modify RESET", "close", "leave"} {
		s := newScript(t, nil)
		s.run(`
			share limit=8 turn=1
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack`)
		c := s.rc.(*RC)
		share := c.req.share
		if share.Left() != 6 || share.Members() != 1 {
			t.Errorf("%d of 8 are left, %d members", share.Left(), share.Members())
		}
		members := 1
		switch end {
		case "close":
			c.Close()
			members = 0
		case "leave":
			c.Join(nil)
			members = 0
		default:
			s.run(end)
		}
		if share.Left() != 8 || share.Members() != members {
			t.Errorf("after %q: %d of 8 are left, %d members, want %d", end, share.Left(), share.Members(), members)
		}
	}
}
