package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// lossy permits retries and sets a window of eight.
func lossy(a *qp.Attr, c *Config) { a.RetryCnt, a.RNRRetry = 7, 7; c.Window = 8 }

// lossyOnce permits one retry, without a probe before it.
func lossyOnce(a *qp.Attr, c *Config) { lossy(a, c); a.RetryCnt = 1; c.ProbeAfter = 1 << 40 }

// learned makes the peer show that it keeps early packets: it acknowledges packets that were not
// sent again. The next PSN is 104.
const learned = `
			post write id=1 len=1024
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_LAST psn=103 len=256 ack
			< ACKNOWLEDGE psn=100 syn=seq
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE
`

// four is a message of four packets from PSN 104 on.
const four = `
			post write id=2 len=1024
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=105 len=256
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
`

// vain is a message of three packets with a repair that shows that nothing was kept.
func vain(psn int) string {
	return fmt.Sprintf(`
			post write id=9 len=768
			> RDMA_WRITE_FIRST psn=%[1]d len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=%[2]d len=256
			> RDMA_WRITE_LAST psn=%[3]d len=256 ack
			< ACKNOWLEDGE psn=%[1]d syn=seq
			> RDMA_WRITE_FIRST psn=%[1]d len=256 va=0x40000 dma=768 ack
			< ACKNOWLEDGE psn=%[1]d
			> RDMA_WRITE_MIDDLE psn=%[2]d len=256
			> RDMA_WRITE_LAST psn=%[3]d len=256 ack
			< ACKNOWLEDGE psn=%[3]d
			wc 9 SUCCESS RDMA_WRITE
`, psn, psn+1, psn+2)
}

// doubted makes the peer show three times in a row that it has kept nothing. The next PSN is 113.
var doubted = vain(104) + vain(107) + vain(110)

// A peer that keeps early packets is sent only the missing packet. That is a choice of this
// package: the IBA describes go-back-N (9.7.5.1.2), and no packet names the other missing PSNs.
func TestRequesterRepairsWhereThePeerKeeps(t *testing.T) {
	runScenarios(t, []scenario{
		{"the packet of the NAK alone is sent again, asks for an ACK, and new ones go on", lossy, learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			verdict sequence_nak
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			post write id=3 len=0
			> RDMA_WRITE_ONLY psn=108 len=0 va=0x40000 dma=0 ack
			< ACKNOWLEDGE psn=108
			wc 2 SUCCESS RDMA_WRITE
			wc 3 SUCCESS RDMA_WRITE
			counts retransmitted_pkts=2 rcvd_seq_err=2`},
		{"a NAK that shows the next gap is answered likewise", lossy, learned + four + `
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=106 syn=seq
			> RDMA_WRITE_MIDDLE psn=106 len=256 ack
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE`},
		{"a second NAK for the same PSN is not answered again", lossy, learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=105 syn=seq
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE`},
		{"an ACK for the repaired packet alone tells that the rest was not kept: all of it is sent again", lossy,
			learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=105
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE`},
		{"which more NAKs in between neither hide nor add to", lossy, learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=105 syn=seq
			< ACKNOWLEDGE psn=105 syn=seq
			< ACKNOWLEDGE psn=105
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE
			` + vain(108) + vain(111)},
		{"so does a NAK for the packet behind it, which costs a retry as any other", lossy, learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=106 syn=seq
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
			progress send=108 ack=106 recv=100 window=8 retries=6 rnr=7
			< ACKNOWLEDGE psn=106 syn=seq
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE`},
		{"a peer with which three repairs in a row were in vain is sent everything, until it is seen to keep", lossy,
			learned + doubted + `
			post write id=2 len=1024
			> RDMA_WRITE_FIRST psn=113 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=114 len=256
			> RDMA_WRITE_MIDDLE psn=115 len=256
			> RDMA_WRITE_LAST psn=116 len=256 ack
			<+ ACKNOWLEDGE psn=113 syn=seq
			send 1 more
			> RDMA_WRITE_FIRST psn=113 len=256 va=0x40000 dma=1024
			<+ ACKNOWLEDGE psn=115 syn=seq
			send 1 more
			> RDMA_WRITE_MIDDLE psn=115 len=256
			< ACKNOWLEDGE psn=116
			wc 2 SUCCESS RDMA_WRITE
			` + vain(117)},
		{"one that keeps at times is believed again", lossy, learned + vain(104) + vain(107) + `
			post write id=2 len=1024
			> RDMA_WRITE_FIRST psn=110 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=111 len=256
			> RDMA_WRITE_MIDDLE psn=112 len=256
			> RDMA_WRITE_LAST psn=113 len=256 ack
			< ACKNOWLEDGE psn=110 syn=seq
			> RDMA_WRITE_FIRST psn=110 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=113
			wc 2 SUCCESS RDMA_WRITE
			` + vain(114) + vain(117) + vain(120)},
		{"an ACK that comes before the repair has left makes it needless", lossy, learned + four + `
			<+ ACKNOWLEDGE psn=105 syn=seq
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE
			counts retransmitted_pkts=1 rcvd_seq_err=2`},
		{"the repair waits for room in the batch, before anything else", lossy, learned + four + `
			<+ ACKNOWLEDGE psn=105 syn=seq
			send 0 more
			post write id=3 len=0
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			> RDMA_WRITE_ONLY psn=108 len=0 va=0x40000 dma=0 ack
			< ACKNOWLEDGE psn=108
			wc 2 SUCCESS RDMA_WRITE
			wc 3 SUCCESS RDMA_WRITE`},
		{"while a packet is repaired twice the window may be out, and the packet that fills it asks for an ACK", lossy,
			learned + four + `
			post write id=3 len=3584
			> RDMA_WRITE_FIRST psn=108 len=256 va=0x40000 dma=3584
			> RDMA_WRITE_MIDDLE psn=109 len=256
			> RDMA_WRITE_MIDDLE psn=110 len=256
			> RDMA_WRITE_MIDDLE psn=111 len=256 ack
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024 ack
			> RDMA_WRITE_MIDDLE psn=112 len=256
			> RDMA_WRITE_MIDDLE psn=113 len=256
			> RDMA_WRITE_MIDDLE psn=114 len=256
			> RDMA_WRITE_MIDDLE psn=115 len=256
			> RDMA_WRITE_MIDDLE psn=116 len=256
			> RDMA_WRITE_MIDDLE psn=117 len=256
			> RDMA_WRITE_MIDDLE psn=118 len=256
			> RDMA_WRITE_MIDDLE psn=119 len=256 ack
			< ACKNOWLEDGE psn=111
			wc 2 SUCCESS RDMA_WRITE
			< ACKNOWLEDGE psn=119
			> RDMA_WRITE_MIDDLE psn=120 len=256
			> RDMA_WRITE_LAST psn=121 len=256 ack
			< ACKNOWLEDGE psn=121
			wc 3 SUCCESS RDMA_WRITE`},
		{"but no more than the window of READs, atomics and FLUSHes",
			func(a *qp.Attr, c *Config) { lossy(a, c); c.Window = 4; a.MaxRdAtomic = 8; c.ReadChunk = 1 },
			learned + four + `
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024 ack
			post write id=3 len=0
			> RDMA_WRITE_ONLY psn=108 len=0 va=0x40000 dma=0 ack
			post read id=4 len=1
			post faa id=5 len=8 add=3
			< ACKNOWLEDGE psn=108
			wc 2 SUCCESS RDMA_WRITE
			wc 3 SUCCESS RDMA_WRITE
			> RDMA_READ_REQUEST psn=109 va=0x40000 dma=1 ack
			> FETCH_ADD psn=110 va=0x40000 add=3 cmp=0 ack
			< RDMA_READ_RESPONSE_ONLY psn=109 len=1
			wc 4 SUCCESS RDMA_READ
			< ATOMIC_ACKNOWLEDGE psn=110
			wc 5 SUCCESS FETCH_ADD`},
		{"a READ that is repaired keeps its slot, and its data is no sign of what was kept",
			func(a *qp.Attr, c *Config) { lossy(a, c); a.MaxRdAtomic = 1; c.ReadChunk = 2 }, learned + `
			post read id=2 len=400
			> RDMA_READ_REQUEST psn=104 va=0x40000 dma=400 ack
			post write id=3 len=0
			> RDMA_WRITE_ONLY psn=106 len=0 va=0x40000 dma=0 ack
			post read id=4 len=1
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_READ_REQUEST psn=104 va=0x40000 dma=400 ack
			< RDMA_READ_RESPONSE_FIRST psn=104 len=256
			< RDMA_READ_RESPONSE_LAST psn=105 len=144
			wc 2 SUCCESS RDMA_READ
			> RDMA_READ_REQUEST psn=107 va=0x40000 dma=1 ack
			< ACKNOWLEDGE psn=106
			wc 3 SUCCESS RDMA_WRITE
			< RDMA_READ_RESPONSE_ONLY psn=107 len=1
			wc 4 SUCCESS RDMA_READ
			counts retransmitted_pkts=2 rcvd_seq_err=2`},
		{"a NAK behind the READ that was repaired tells that the rest was not kept",
			func(a *qp.Attr, c *Config) { lossy(a, c); c.ReadChunk = 2 }, learned + `
			post read id=2 len=400
			> RDMA_READ_REQUEST psn=104 va=0x40000 dma=400 ack
			post write id=3 len=0
			> RDMA_WRITE_ONLY psn=106 len=0 va=0x40000 dma=0 ack
			post write id=4 len=0
			> RDMA_WRITE_ONLY psn=107 len=0 va=0x40000 dma=0 ack
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_READ_REQUEST psn=104 va=0x40000 dma=400 ack
			< RDMA_READ_RESPONSE_FIRST psn=104 len=256
			< RDMA_READ_RESPONSE_LAST psn=105 len=144
			wc 2 SUCCESS RDMA_READ
			< ACKNOWLEDGE psn=106 syn=seq
			> RDMA_WRITE_ONLY psn=106 len=0 va=0x40000 dma=0 ack
			> RDMA_WRITE_ONLY psn=107 len=0 va=0x40000 dma=0 ack
			< ACKNOWLEDGE psn=107
			wc 3 SUCCESS RDMA_WRITE
			wc 4 SUCCESS RDMA_WRITE`},
		{"an RNR NAK goes back to all that is unacknowledged", lossy, learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=106 syn=rnr1
			advance 10us
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
			< ACKNOWLEDGE psn=106
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE`},
		{"a local ACK timeout goes back to all that is unacknowledged",
			func(a *qp.Attr, c *Config) { lossy(a, c); c.ProbeAfter = 1 << 40 }, learned + four + `
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			advance 67108863ns
			advance 1ns
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE`},
		{"a repair starts the timer anew", func(a *qp.Attr, c *Config) { lossy(a, c); c.ProbeAfter = 1 << 40 },
			learned + four + `
			advance 60ms
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024 ack
			advance 67108863ns
			advance 1ns
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack`},
		{"retry_cnt counts NAKs without progress, repaired or not", lossyOnce, learned + four + `
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024 ack
			advance 67108864ns
			wc 2 RETRY_EXC_ERR
			state ERR`},
		{"a NAK after a timeout is answered without a retry left, once: both may tell of one loss", lossyOnce,
			learned + four + `
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=104 syn=seq
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024 ack
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
			< ACKNOWLEDGE psn=104 syn=seq
			advance 67108864ns
			wc 2 RETRY_EXC_ERR
			state ERR`},
		{"a repair whose memory is gone fails its request", lossy, learned + four + `
			<+ ACKNOWLEDGE psn=105 syn=seq
			dereg rw
			wc 2 LOC_PROT_ERR
			state ERR`},
		{"in SQD what was started is repaired, and the queue pair drains", lossy, learned + four + `
			modify SQD notify
			< ACKNOWLEDGE psn=105 syn=seq
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE
			event SQ_DRAINED`},
	})
}

func TestReconnectedQPKnowsNothingOfItsPeer(t *testing.T) {
	s := newScript(t, lossy)
	s.run(learned + doubted + `
			post write id=2 len=0
			> RDMA_WRITE_ONLY psn=113 len=0 va=0x40000 dma=0 ack
			advance 100us`)
	s.reconnect()
	s.run(learned[:strings.Index(learned, "< ACKNOWLEDGE")] + `
			advance 60ms
			< ACKNOWLEDGE psn=100 syn=seq
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=103
			wc 1 SUCCESS RDMA_WRITE`)
}

// What a peer must do so that repairs are tried again, and what is not sufficient.
func TestRequesterGoesBackAfterVainRepairs(t *testing.T) {
	message := `
			post write id=1 len=1024
			> RDMA_WRITE_FIRST psn=113 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=114 len=256
			> RDMA_WRITE_MIDDLE psn=115 len=256
			> RDMA_WRITE_LAST psn=116 len=256 ack
`
	back := `
			post write id=2 len=1024
			> RDMA_WRITE_FIRST psn=117 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=118 len=256
			> RDMA_WRITE_MIDDLE psn=119 len=256
			> RDMA_WRITE_LAST psn=120 len=256 ack
			< ACKNOWLEDGE psn=118 syn=seq
			> RDMA_WRITE_MIDDLE psn=118 len=256
			> RDMA_WRITE_MIDDLE psn=119 len=256
			> RDMA_WRITE_LAST psn=120 len=256 ack
			< ACKNOWLEDGE psn=120
			wc 2 SUCCESS RDMA_WRITE`
	late := func(a *qp.Attr, c *Config) { lossy(a, c); c.ProbeAfter = 1 << 40 }
	runScenarios(t, []scenario{
		{"an ACK of what was repeated", late, learned + doubted + message + `
			<+ ACKNOWLEDGE psn=113 syn=seq
			send 2 more
			> RDMA_WRITE_FIRST psn=113 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=114 len=256
			<+ ACKNOWLEDGE psn=114
			< ACKNOWLEDGE psn=116
			wc 1 SUCCESS RDMA_WRITE` + back},
		{"an ACK after a timeout: it may be an answer to the first time", late, learned + doubted + message + `
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=113 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=114 len=256 ack
			< ACKNOWLEDGE psn=116
			wc 1 SUCCESS RDMA_WRITE` + back},
		{"an ACK after an RNR NAK", late, learned + doubted + message + `
			<+ ACKNOWLEDGE psn=113 syn=seq
			send 1 more
			> RDMA_WRITE_FIRST psn=113 len=256 va=0x40000 dma=1024
			<+ ACKNOWLEDGE psn=113 syn=rnr1
			< ACKNOWLEDGE psn=116
			wc 1 SUCCESS RDMA_WRITE` + back},
		{"an ACK of what left after a repair that was in vain", late, learned + four + `
			advance 67108864ns
			> RDMA_WRITE_FIRST psn=104 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			<+ ACKNOWLEDGE psn=105 syn=seq
			send 1 more
			> RDMA_WRITE_MIDDLE psn=105 len=256 ack
			< ACKNOWLEDGE psn=106 syn=seq
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_LAST psn=107 len=256 ack
			< ACKNOWLEDGE psn=107
			wc 2 SUCCESS RDMA_WRITE` + vain(108) + vain(111) + `
			post write id=3 len=512
			> RDMA_WRITE_FIRST psn=114 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=115 len=256 ack
			< ACKNOWLEDGE psn=114 syn=seq
			> RDMA_WRITE_FIRST psn=114 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=115 len=256 ack`},
		{"Linux rxe from the first NAK on", lossy, rxe(`
			post write id=1 len=512
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			> RDMA_WRITE_LAST psn=101 len=256 ack
			<+ ACKNOWLEDGE psn=100 syn=seq
			send 1 more
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=512
			< ACKNOWLEDGE psn=101
			wc 1 SUCCESS RDMA_WRITE
			post write id=2 len=768
			> RDMA_WRITE_FIRST psn=102 len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_LAST psn=104 len=256 ack
			< ACKNOWLEDGE psn=102 syn=seq
			> RDMA_WRITE_FIRST psn=102 len=256 va=0x40000 dma=768
			> RDMA_WRITE_MIDDLE psn=103 len=256
			> RDMA_WRITE_LAST psn=104 len=256 ack
			advance 67108863ns`)},
	})
}

// rxe makes all arriving packets come from Linux rxe.
func rxe(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "<") {
			line = t + " rxe\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
