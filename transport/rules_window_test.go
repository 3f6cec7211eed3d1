package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// The window follows the acknowledgements of the peer. That is a choice of this package; the
// IBA does not require it.
func TestWindowFollowsThePeer(t *testing.T) {
	eight := func(a *qp.Attr, c *Config) { a.RetryCnt, a.RNRRetry = 7, 7; c.Window = 8 }
	// toOne is three timeouts.
	const toOne = `
			post write id=1 len=6144
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=6144
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_MIDDLE psn=104 len=256
			> RDMA_WRITE_MIDDLE psn=105 len=256
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_MIDDLE psn=107 len=256 ack
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=6144
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256 ack
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=6144
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=6144 ack
`
	runScenarios(t, []scenario{
		{"a local ACK timeout halves what may be outstanding, and the packet that fills it asks for an ACK, but there is always one", eight, toOne + `
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=6144 ack
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=6144 ack`},
		{"half is that of what was outstanding, not of the window", eight, `
			post write id=1 len=768
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_LAST psn=102 len=256 ack
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=768 ack
			< ACKNOWLEDGE psn=100
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_LAST psn=102 len=256 ack
			< ACKNOWLEDGE psn=102
			wc 1 SUCCESS RDMA_WRITE`},
		{"acknowledgements let out as much more as they cover, up to the whole window", eight, toOne + `
			< ACKNOWLEDGE psn=100
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256 ack
			< ACKNOWLEDGE psn=101
			# three more may be out than one, one is
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_MIDDLE psn=104 len=256 ack
			< ACKNOWLEDGE psn=104
			> RDMA_WRITE_MIDDLE psn=105 len=256
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_MIDDLE psn=107 len=256
			> RDMA_WRITE_MIDDLE psn=108 len=256
			> RDMA_WRITE_MIDDLE psn=109 len=256
			> RDMA_WRITE_MIDDLE psn=110 len=256 ack
			< ACKNOWLEDGE psn=110
			> RDMA_WRITE_MIDDLE psn=111 len=256
			> RDMA_WRITE_MIDDLE psn=112 len=256
			> RDMA_WRITE_MIDDLE psn=113 len=256
			> RDMA_WRITE_MIDDLE psn=114 len=256
			> RDMA_WRITE_MIDDLE psn=115 len=256
			> RDMA_WRITE_MIDDLE psn=116 len=256
			> RDMA_WRITE_MIDDLE psn=117 len=256
			> RDMA_WRITE_MIDDLE psn=118 len=256 ack
			< ACKNOWLEDGE psn=118
			> RDMA_WRITE_MIDDLE psn=119 len=256
			> RDMA_WRITE_MIDDLE psn=120 len=256
			> RDMA_WRITE_MIDDLE psn=121 len=256
			> RDMA_WRITE_MIDDLE psn=122 len=256
			> RDMA_WRITE_LAST psn=123 len=256 ack
			< ACKNOWLEDGE psn=123
			wc 1 SUCCESS RDMA_WRITE`},
		{"one acknowledgement for all makes the window whole at once", eight, toOne + `
			< ACKNOWLEDGE psn=107
			> RDMA_WRITE_MIDDLE psn=108 len=256
			> RDMA_WRITE_MIDDLE psn=109 len=256
			> RDMA_WRITE_MIDDLE psn=110 len=256
			> RDMA_WRITE_MIDDLE psn=111 len=256
			> RDMA_WRITE_MIDDLE psn=112 len=256
			> RDMA_WRITE_MIDDLE psn=113 len=256
			> RDMA_WRITE_MIDDLE psn=114 len=256
			> RDMA_WRITE_MIDDLE psn=115 len=256 ack
			< ACKNOWLEDGE psn=115
			> RDMA_WRITE_MIDDLE psn=116 len=256
			> RDMA_WRITE_MIDDLE psn=117 len=256
			> RDMA_WRITE_MIDDLE psn=118 len=256
			> RDMA_WRITE_MIDDLE psn=119 len=256
			> RDMA_WRITE_MIDDLE psn=120 len=256
			> RDMA_WRITE_MIDDLE psn=121 len=256
			> RDMA_WRITE_MIDDLE psn=122 len=256
			> RDMA_WRITE_LAST psn=123 len=256 ack
			< ACKNOWLEDGE psn=123
			wc 1 SUCCESS RDMA_WRITE`},
		{"a sequence NAK and an RNR NAK leave the window as it is", eight, `
			post send id=1 len=1024
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			> SEND_MIDDLE psn=102 len=256
			> SEND_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=100 syn=seq rxe
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			> SEND_MIDDLE psn=102 len=256
			> SEND_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=100 syn=rnr1
			advance 10us
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			> SEND_MIDDLE psn=102 len=256
			> SEND_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS SEND`},
		{"an implied NAK leaves the window as it is", eight, `
			post read id=1 len=1024
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			post write id=2 len=768
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=105 len=256
			> RDMA_WRITE_LAST psn=106 len=256 ack
			< ACKNOWLEDGE psn=106
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=105 len=256
			> RDMA_WRITE_LAST psn=106 len=256 ack`},
		{"a READ chunk is never made smaller: where nothing is outstanding it is asked for", eight, `
			post read id=1 len=2048
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			> RDMA_READ_REQUEST psn=104 va=0x40400 dma=1024 ack
			advance 67108864ns
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			advance 67108864ns
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=100 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			# the window was two and three are acknowledged: one of five is outstanding, and four fit
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_REQUEST psn=104 va=0x40400 dma=1024 ack
			< RDMA_READ_RESPONSE_LAST psn=103 len=256
			advance 67108864ns
			> RDMA_READ_REQUEST psn=104 va=0x40400 dma=1024 ack
			< RDMA_READ_RESPONSE_FIRST psn=104 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=105 len=256
			< RDMA_READ_RESPONSE_MIDDLE psn=106 len=256
			< RDMA_READ_RESPONSE_LAST psn=107 len=256
			wc 1 SUCCESS RDMA_READ`},
	})
}

// Beyond the window of Linux rxe, the window follows what the peer has room for.
func TestWindowGrowsWhereItWasFull(t *testing.T) {
	grows := func(a *qp.Attr, c *Config) { a.RetryCnt = 7; c.Window, c.MaxWindow = 2, 4 }
	const begins = `
			post write id=1 len=2560
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=2560
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
`
	const grown = begins + `
			< ACKNOWLEDGE psn=101
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_MIDDLE psn=104 len=256
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
`
	runScenarios(t, []scenario{
		{"it grows by what is acknowledged, up to the most", grows, grown + `
			< ACKNOWLEDGE psn=105
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_MIDDLE psn=107 len=256
			> RDMA_WRITE_MIDDLE psn=108 len=256
			> RDMA_WRITE_LAST psn=109 len=256 ack
			< ACKNOWLEDGE psn=109
			wc 1 SUCCESS RDMA_WRITE`},
		{"it does not towards rxe", grows, begins + `
			< ACKNOWLEDGE psn=101 rxe
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256 ack`},
		{"where it was not full it stays", grows, `
			post write id=1 len=256
			> RDMA_WRITE_ONLY psn=100 len=256 va=0x40000 dma=256 ack
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS RDMA_WRITE
			post write id=2 len=1024
			> RDMA_WRITE_FIRST psn=101 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=102 len=256 ack`},
		{"a sequence NAK makes it 0.7 times as large, down to whole steps, and from then on it grows slowly", grows, `
			post write id=1 len=4096
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=4096
			> RDMA_WRITE_MIDDLE psn=101 len=256 ack
			< ACKNOWLEDGE psn=101
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_MIDDLE psn=104 len=256
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=102 syn=seq
			> RDMA_WRITE_MIDDLE psn=102 len=256 ack
			< ACKNOWLEDGE psn=105
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_MIDDLE psn=107 len=256 ack
			< ACKNOWLEDGE psn=107
			> RDMA_WRITE_MIDDLE psn=108 len=256
			> RDMA_WRITE_MIDDLE psn=109 len=256 ack
			< ACKNOWLEDGE psn=109
			> RDMA_WRITE_MIDDLE psn=110 len=256
			> RDMA_WRITE_MIDDLE psn=111 len=256
			> RDMA_WRITE_MIDDLE psn=112 len=256 ack`},
		{"a gap in READ responses does as well",
			func(a *qp.Attr, c *Config) { grows(a, c); c.ReadChunk = 1; a.MaxRdAtomic = 16 }, `
			post read id=1 len=2560
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=256 ack
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=256 ack
			< RDMA_READ_RESPONSE_ONLY psn=100 len=256
			> RDMA_READ_REQUEST psn=102 va=0x40200 dma=256 ack
			> RDMA_READ_REQUEST psn=103 va=0x40300 dma=256 ack
			< RDMA_READ_RESPONSE_ONLY psn=102 len=256
			verdict out_of_sequence
			> RDMA_READ_REQUEST psn=101 va=0x40100 dma=256 ack
			> RDMA_READ_REQUEST psn=102 va=0x40200 dma=256 ack`},
	})
}
