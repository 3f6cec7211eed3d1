package transport

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// A repair is a range of PSNs, which may begin in one message and end in another.
func TestARepairMaySpanMessages(t *testing.T) {
	s := newScript(t, func(_ *qp.Attr, c *Config) { c.Window = 64 })
	s.run(`
		post write id=1 len=512
		> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
		> RDMA_WRITE_LAST psn=101 len=256 ack
		post read id=2 len=512
		> RDMA_READ_REQUEST psn=102 va=0x40000 dma=512 ack
		post write id=3 len=768
		> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=768
		> RDMA_WRITE_MIDDLE psn=105 len=256
		> RDMA_WRITE_LAST psn=106 len=256 ack`)
	rc := s.rc.(*RC)
	rc.repair(span{101, 106})
	s.run(`
		send 2 more
		> RDMA_WRITE_LAST psn=101 len=256 ack
		> RDMA_READ_REQUEST psn=102 va=0x40000 dma=512 ack
		post write id=4 len=0
		> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=768 ack
		> RDMA_WRITE_MIDDLE psn=105 len=256 ack
		> RDMA_WRITE_ONLY psn=107 len=0 va=0x40000 dma=0 ack
		counts retransmitted_pkts=4`)
	if rc.req.reads != 1 {
		t.Errorf("%d READs are outstanding", rc.req.reads)
	}
}

func TestWhatAFatalNAKMeans(t *testing.T) {
	for s := 0x61; s < 0x80; s++ {
		got, want := *fatal(bth.Syndrome(s)), reservedNAK
		if s <= 0x64 {
			want = fatalNAKs[s-0x60]
		}
		if got != want || got.status == qp.WCSuccess {
			t.Errorf("%#x means %+v, want %+v", s, got, want)
		}
	}
	if fatal(bth.NakPSNSequence) != &reservedNAK {
		t.Error("a sequence NAK is fatal")
	}
}
