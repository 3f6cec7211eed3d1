package trace_test

import "testing"

const setup = `
			a REQ comm=1 qpn=0x11 psn=500
				= REQ: connection request to rdma_cm port 7000 (port space TCP) with QP 0x000011, path MTU 1024, expects PSN 500 first
				role cm flow=1 again=false
			b REP comm=2 peer=1 qpn=0x22 psn=100
				= REP: accepts with QP 0x000022, expects PSN 100 first
				role cm flow=1 again=false
			a RTU comm=1 peer=2
				= RTU: connection established, 2ms after the first REQ`

func TestTheConnectionManagerTellsWhoTalksToWhom(t *testing.T) {
	runScenarios(t, []scenario{
		{"queue pairs, first PSNs and the path MTU", setup + `
			b SEND_ONLY psn=500 len=7 ack
				role request flow=1 again=false
			a ACKNOWLEDGE psn=500
				role ack flow=1 again=false
			a READ_REQUEST psn=100 dma=2048
				= READ #2 asks for 2048 bytes at 0x1000, key 0x77, in 2 responses
			a DREQ comm=1 peer=2 qpn=0x22
				= DREQ: disconnect request for QP 0x000022
				! unanswered the connection ends before the READ of frame 6 was answered
			b DREP comm=2 peer=1
				= DREP: disconnected
			flow 1 service=RC mtu=1024 ends=10.0.0.1/0x11-10.0.0.2/0x22 managed=port:7000,took:2ms,retries:0,ended:true
			message READ #2 failed: the connection ended before it was answered`},
		{"the first packet was lost", setup + `
			a SEND_ONLY psn=101 len=7 ack
				! gap PSN 100 is missing...`},
		{"messages that are sent again", `
			a REQ comm=1 qpn=0x11 psn=500
			+1s
			a REQ comm=1 qpn=0x11 psn=500
				= REQ, retransmitted: connection request to...
				role cm flow=1 again=true
				! cm_retry REQ is retransmitted 1s after frame 1: no response in that time
			b REP comm=2 peer=1 qpn=0x22 psn=100
			b REP comm=2 peer=1 qpn=0x22 psn=100
				! cm_retry REP is retransmitted 1ms after frame 3: no response in that time
			flow 1 managed=port:7000,took:0s,retries:2,ended:false`},
		{"a rejection says why", `
			a REQ comm=1 qpn=0x11 psn=500
			b REJ comm=0 peer=1 reason=8
				= REJ: rejects REQ, invalid service ID
				! cm_rejected the REQ of frame 1 is rejected with reason 8: invalid service ID (no listener at this port)
			flow 1 err=rejected:_invalid_service_ID`},
		{"of an exchange that is not there as a whole", `
			b REP comm=2 peer=1 qpn=0x22 psn=100
			a SEND_ONLY psn=100 len=1 ack
				role request flow=1 again=false
			b ACKNOWLEDGE psn=100
				= acknowledges SEND #1, 1ms latency
				role ack flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22`},
		{"or whose REP is not", `
			a REQ comm=1 qpn=0x11 psn=500
			a SEND_ONLY psn=100 len=1 ack
				role request flow=2 again=false
			b SEND_ONLY psn=500 len=1 ack
				role request flow=1 again=false
			b ACKNOWLEDGE psn=100
				= acknowledges SEND #1, 2ms latency
				role ack flow=1 again=false
			a SEND_ONLY psn=101 len=1 ack
				role request flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22`},
		{"an answer that will take longer", `
			a REQ comm=1 qpn=0x11 psn=500
			b MRA comm=2 peer=1
				= MRA: has REQ, and needs more time to answer
				role cm flow=1 again=false`},
		{"a queue pair number that serves another connection", setup + `
			a SEND_ONLY psn=100 len=7 ack
			a REQ comm=9 qpn=0x11 psn=600
				role cm flow=2 again=false
			message SEND #1 open
			b REP comm=8 peer=9 qpn=0x23 psn=700
				role cm flow=2 again=false
			a SEND_ONLY psn=700 len=7 ack to=0x23
				role request flow=2 again=false
			flow 2 ends=10.0.0.1/0x11-10.0.0.2/0x23`},
		{"the end of a connection whose beginning is not there", `
			a SEND_ONLY psn=100 len=7 ack
			b ACKNOWLEDGE psn=100
			a DREQ comm=1 peer=2 qpn=0x22
				role cm flow=1 again=false
			b DREP comm=2 peer=1
				role cm flow=1 again=false
			flow 1 managed=port:0,took:0s,retries:0,ended:true`},
		{"the same numbers again after the end are another connection", setup + `
			a DREQ comm=1 peer=2 qpn=0x22
			b DREP comm=2 peer=1
			a REQ comm=1 qpn=0x11 psn=500
				role cm flow=2 again=false
			b REP comm=3 peer=1 qpn=0x23 psn=700
				role cm flow=2 again=false
			flow 1 managed=port:7000,took:2ms,retries:0,ended:true
			flow 2 ends=10.0.0.1/0x11-10.0.0.2/0x23`},
		{"a datagram service is asked for by SIDR, and again if no answer comes", `
			a SIDR_REQ comm=5
			a SIDR_REQ comm=6
			+4s
			a SIDR_REQ comm=5
				role cm flow=1 again=true
				! cm_retry SIDR_REQ is retransmitted 4s after frame 1: no response in that time`},
		{"a datagram service is asked for by SIDR", `
			a SIDR_REQ comm=5
				= SIDR_REQ: requests the datagram queue pair of rdma_cm port 7000 (port space UDP)
			b SIDR_REP comm=5 qpn=0x33
				= SIDR_REP: rdma_cm port 7000 (port space UDP) has QP 0x000033, Q_Key 0x0
			flow 1 service=UD ends=10.0.0.1/0x1-10.0.0.2/0x1`},
	})
}
