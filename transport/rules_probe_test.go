package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// paced gives the requester an RTT sample of 100 µs, so that a probe follows after 300 µs, and
// leaves PSNs 105 to 108 outstanding.
const paced = learned + `
			post write id=2 len=0
			> RDMA_WRITE_ONLY psn=104 len=0 va=0x40000 dma=0 ack
			advance 100us
			< ACKNOWLEDGE psn=104
			wc 2 SUCCESS RDMA_WRITE
			post write id=3 len=1024
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_MIDDLE psn=107 len=256
			> RDMA_WRITE_LAST psn=108 len=256 ack
`

// A probe to a peer that keeps early packets recovers before the local ACK timeout. Probes are a
// choice of this package.
func TestRequesterProbes(t *testing.T) {
	runScenarios(t, []scenario{
		{"after a silence longer than answers take the oldest packet is sent again and asks for an ACK, later each time", lossy, paced + `
			advance 299999ns
			advance 1ns
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024 ack
			advance 599999ns
			advance 1ns
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=108
			wc 3 SUCCESS RDMA_WRITE
			counts retransmitted_pkts=3 ack_probes=2 rcvd_seq_err=1`},
		{"a probe spends no retry, and the local ACK timeout comes when it would",
			func(a *qp.Attr, c *Config) { lossy(a, c); a.RetryCnt = 1; c.ProbeAfter = 40_000_000 }, paced + `
			advance 40ms
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024 ack
			progress send=109 ack=105 recv=100 window=8 retries=1 rnr=7
			advance 27108863ns
			progress send=109 ack=105 recv=100 window=8 retries=1 rnr=7
			advance 1ns
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024
			> RDMA_WRITE_MIDDLE psn=106 len=256 ack
			progress send=109 ack=105 recv=100 window=2 rnr=7`},
		{"a probe that is answered for its packet alone is followed by one that sends everything", lossy, paced + `
			advance 300us
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=105
			advance 299999ns
			advance 1ns
			> RDMA_WRITE_MIDDLE psn=106 len=256
			> RDMA_WRITE_MIDDLE psn=107 len=256
			> RDMA_WRITE_LAST psn=108 len=256 ack
			< ACKNOWLEDGE psn=108
			wc 3 SUCCESS RDMA_WRITE
			counts retransmitted_pkts=5 ack_probes=2 rcvd_seq_err=1`},
		{"one that is answered for more is not", lossy, paced + `
			advance 300us
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024 ack
			< ACKNOWLEDGE psn=106
			advance 300us
			> RDMA_WRITE_MIDDLE psn=107 len=256 ack
			< ACKNOWLEDGE psn=108
			wc 3 SUCCESS RDMA_WRITE`},
		{"a repair that is lost is probed for", lossy, paced + `
			< ACKNOWLEDGE psn=106 syn=seq
			> RDMA_WRITE_MIDDLE psn=106 len=256 ack
			advance 300us
			> RDMA_WRITE_MIDDLE psn=106 len=256 ack
			< ACKNOWLEDGE psn=108
			wc 3 SUCCESS RDMA_WRITE`},
		{"a silence is never shorter than ProbeAfter",
			func(a *qp.Attr, c *Config) { lossy(a, c); c.ProbeAfter = 300_001 }, paced + `
			advance 300us
			advance 1ns
			> RDMA_WRITE_FIRST psn=105 len=256 va=0x40000 dma=1024 ack`},
		{"where nothing is unacknowledged nothing is probed for", lossy, paced + `
			< ACKNOWLEDGE psn=108
			wc 3 SUCCESS RDMA_WRITE
			advance 1s`},
		{"a queue pair without a local ACK timeout does not probe",
			func(a *qp.Attr, c *Config) { lossy(a, c); a.Timeout = 0 }, paced + `
			advance 1s`},
		{"where nothing was seen to be kept the window is not widened by a repair, and nothing is probed for",
			func(a *qp.Attr, c *Config) { lossy(a, c); c.Window = 4 }, `
			post write id=1 len=1280
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1280
			> RDMA_WRITE_MIDDLE psn=101 len=256
			> RDMA_WRITE_MIDDLE psn=102 len=256
			> RDMA_WRITE_MIDDLE psn=103 len=256 ack
			advance 100us
			< ACKNOWLEDGE psn=100 syn=seq
			> RDMA_WRITE_FIRST psn=100 len=256 va=0x40000 dma=1280 ack
			advance 60ms`},
		{"nor does one that has seen nothing kept", lossy, `
			post write id=2 len=0
			> RDMA_WRITE_ONLY psn=100 len=0 va=0x40000 dma=0 ack
			advance 100us
			< ACKNOWLEDGE psn=100
			wc 2 SUCCESS RDMA_WRITE
			post write id=3 len=0
			> RDMA_WRITE_ONLY psn=101 len=0 va=0x40000 dma=0 ack
			advance 67108863ns
			advance 1ns
			> RDMA_WRITE_ONLY psn=101 len=0 va=0x40000 dma=0 ack`},
		{"a peer that keeps no more is probed for all the same", lossy, paced + `
			< ACKNOWLEDGE psn=106 syn=seq
			> RDMA_WRITE_MIDDLE psn=106 len=256 ack
			< ACKNOWLEDGE psn=106
			> RDMA_WRITE_MIDDLE psn=107 len=256
			> RDMA_WRITE_LAST psn=108 len=256 ack
			advance 300us
			> RDMA_WRITE_MIDDLE psn=107 len=256 ack
			< ACKNOWLEDGE psn=108
			wc 3 SUCCESS RDMA_WRITE`},
	})
}

// RTT samples follow RFC 6298; packets sent twice are no samples (Karn).
func TestPaceFollowsAnswers(t *testing.T) {
	var r requester
	answer := func(psn uint32, took Time) {
		r.startSample(1000, 0)
		r.una = 0
		r.una = r.una.Add(psn)
		r.endSample(1000 + took)
	}
	answer(1, 50)
	if r.srtt != 0 {
		t.Errorf("time was taken of a peer that was not seen to keep: %d", r.srtt)
	}
	r.peerKeepsEarly = true
	answer(0, 50)
	if r.srtt != 0 {
		t.Errorf("what has not answered the packet took %d", r.srtt)
	}
	answer(1, 80_000)
	if r.srtt != 80_000 || r.rttvar != 40_000 {
		t.Errorf("after the first answer %d and %d, want 80000 and 40000", r.srtt, r.rttvar)
	}
	answer(1, 160_000)
	if r.srtt != 90_000 || r.rttvar != 50_000 {
		t.Errorf("after a later one %d and %d, want 90000 and 50000", r.srtt, r.rttvar)
	}
	answer(1, 10_000)
	if r.srtt != 80_000 || r.rttvar != 57_500 {
		t.Errorf("after an earlier one %d and %d, want 80000 and 57500", r.srtt, r.rttvar)
	}
	r.actedOnNAK = true
	answer(1, 10_000)
	if r.srtt != 80_000 {
		t.Error("time was taken while something is missing")
	}
	r.actedOnNAK, r.probes = false, 1
	answer(1, 10_000)
	if r.srtt != 80_000 {
		t.Error("time was taken while a probe is out")
	}
}
