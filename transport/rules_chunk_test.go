package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// Segmentation offload sends packets of equal length in one call. Splitting WRITEs and READs for
// it is a choice of this package: a responder cannot tell them from several work requests.
func TestWritesAndReadsForSegmentationOffload(t *testing.T) {
	const heard = `
			trains
			post write id=9 len=4
			> RDMA_WRITE_ONLY psn=100 len=4 va=0x40000 dma=4 ack
			< ACKNOWLEDGE psn=100
			wc 9 SUCCESS RDMA_WRITE
`
	four := func(a *qp.Attr, c *Config) { c.Window = 4 }
	filled := func(a *qp.Attr, c *Config) { a.MaxRdAtomic, c.Window = 4, 8 }
	whole := func(a *qp.Attr, c *Config) { c.Window = 16 }
	runScenarios(t, []scenario{
		{"a long WRITE is a message for each packet, each with its own RETH, and one completion", nil, heard + `
			post write id=1 len=700
			> RDMA_WRITE_ONLY psn=101 len=256 va=0x40000 dma=256
			> RDMA_WRITE_ONLY psn=102 len=256 va=0x40100 dma=256
			> RDMA_WRITE_ONLY psn=103 len=188 va=0x40200 dma=188 ack
			< ACKNOWLEDGE psn=102
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE`},
		{"a WRITE with immediate is one message: the completion of its receive has the length of all", nil, heard + `
			post writeimm id=1 len=300
			> RDMA_WRITE_FIRST psn=101 len=256 va=0x40000 dma=300
			> RDMA_WRITE_LAST_WITH_IMMEDIATE psn=102 len=44 imm=0 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"before the peer has said anything it may be rxe, and gets one message", nil, `
			trains
			post write id=1 len=300
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=300
			> RDMA_WRITE_LAST psn=101 len=44 ack
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE`},
		{"rxe gets one message", nil, `
			trains
			post write id=9 len=4
			> RDMA_WRITE_ONLY psn=100 len=4 va=0x40000 dma=4 ack
			< ACKNOWLEDGE psn=100 rxe
			wc 9 SUCCESS RDMA_WRITE
			post write id=1 len=300
			> RDMA_WRITE_FIRST psn=101 len=256 va=0x40000 dma=300
			> RDMA_WRITE_LAST psn=102 len=44 ack
			< ACKNOWLEDGE psn=102 rxe
			wc 1 SUCCESS RDMA_WRITE`},
		{"without segmentation offload it is one message", nil, `
			post write id=9 len=4
			> RDMA_WRITE_ONLY psn=100 len=4 va=0x40000 dma=4 ack
			< ACKNOWLEDGE psn=100
			wc 9 SUCCESS RDMA_WRITE
			post write id=1 len=300
			> RDMA_WRITE_FIRST psn=101 len=256 va=0x40000 dma=300
			> RDMA_WRITE_LAST psn=102 len=44 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"what is sent again is as it was, whatever is known of the peer and the link by then", nil, `
			post write id=1 len=600
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=600
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_LAST psn=102 len=88 ack
			trains
			< ACKNOWLEDGE psn=100
			advance 67108864ns
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"a split WRITE is sent again from any packet", nil, heard + `
			post write id=1 len=700
			> RDMA_WRITE_ONLY psn=101 len=256 va=0x40000 dma=256
			> RDMA_WRITE_ONLY psn=102 len=256 va=0x40100 dma=256
			> RDMA_WRITE_ONLY psn=103 len=188 va=0x40200 dma=188 ack
			< ACKNOWLEDGE psn=102 syn=seq
			> RDMA_WRITE_ONLY psn=102 len=256 va=0x40100 dma=256 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE`},
		{"a READ asks for pairs of responses where max_rd_atomic is no bound for the window", four, heard + `
			post read id=1 len=700
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=512 ack
			> RDMA_READ_REQUEST psn=103 va=0x40200 dma=188 ack
			< RDMA_READ_RESPONSE_FIRST psn=101 len=256
			< RDMA_READ_RESPONSE_LAST psn=102 len=256
			< RDMA_READ_RESPONSE_ONLY psn=103 len=188
			wc 1 SUCCESS RDMA_READ`},
		{"and where max_rd_atomic of them just fill the window", filled, heard + `
			post read id=1 len=900
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=512 ack
			> RDMA_READ_REQUEST psn=103 va=0x40200 dma=388 ack
			modify ERR
			wc 1 WR_FLUSH_ERR`},
		{"and for half a window where it is", whole, heard + `
			post read id=1 len=2560
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=2048 ack
			> RDMA_READ_REQUEST psn=109 va=0x40800 dma=512 ack
			modify ERR
			wc 1 WR_FLUSH_ERR`},
	})
}
