package trace_test

import "testing"

func TestUnreliableServices(t *testing.T) {
	runScenarios(t, []scenario{
		{"datagrams between two queue pairs are one flow in both directions", `
			a UD_SEND_ONLY psn=1 len=9
				= SEND #1 of 9 bytes, a datagram from QP 0x000011 to QP 0x000022
				role datagram flow=1 again=false
				from 0
			b UD_SEND_ONLY psn=7 len=5
				role datagram flow=1 again=false
				from 1
			a UD_SEND_ONLY_WITH_IMMEDIATE psn=2 len=5 by=0x12 imm=0x1234
				= SEND with immediate #1 of 5 bytes, a datagram from QP 0x000012 to QP 0x000022, immediate 0x1234
				role datagram flow=2 again=false
			message SEND #1 open
			flow 1 service=UD payload=14 messages=2 ends=10.0.0.1/0x11-10.0.0.2/0x22`},
		{"a datagram to a group", `
			a UD_SEND_ONLY psn=1 len=9 to=0xffffff
				= SEND #1 of 9 bytes, a datagram from QP 0x000011 to the members of a multicast group`},
		{"messages of an unreliable connection end with their last packet", `
			a UC_SEND_FIRST psn=1 len=256
				= SEND #1, packet 1: 256 bytes
				role datagram flow=1 again=false
			a UC_SEND_LAST psn=2 len=5 ack
				= SEND #1, packet 2 of 2: 5 bytes
			message SEND #1 open
			flow 1 service=UC payload=261 messages=1 lost=0 mtu=256`},
		{"what is lost of them stays lost", `
			a UC_RDMA_WRITE_FIRST psn=1 len=256 dma=600
			a UC_RDMA_WRITE_LAST psn=3 len=88
				! gap PSN 2 is missing before this packet: lost before the capture point, or missed by the capture; UC does not retransmit, so the receiver drops the message
			a UC_RDMA_WRITE_ONLY psn=4 len=5 dma=5
			message WRITE #1 failed: packets are missing, so the receiver drops the message
			message WRITE #2 open
			flow 1 lost=1 payload=349`},
		{"nobody sends again: what is behind was overtaken or copied", `
			a UC_SEND_ONLY psn=1 len=6
			a UC_SEND_ONLY psn=3 len=6
				! gap ...
			a UC_SEND_ONLY psn=2 len=6
				! reordered ...
			a UC_SEND_ONLY psn=3 len=6
				! duplicate ...
			flow 1 lost=0 again=0`},
		{"two directions are one unreliable connection if the UDP source port says so", `
			a UC_SEND_ONLY psn=1 len=6 port=49730
			b UC_SEND_ONLY psn=71 len=6 port=49730
				role datagram flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22`},
		{"and two halves of which nobody knows more if it does not", `
			a UC_SEND_ONLY psn=1 len=6
			b UC_SEND_ONLY psn=71 len=6
				role datagram flow=2 again=false
			flow 1 ends=10.0.0.1/0x0-10.0.0.2/0x22
			flow 2 ends=10.0.0.2/0x0-10.0.0.1/0x11`},
	})
}

func TestCongestion(t *testing.T) {
	runScenarios(t, []scenario{
		{"a marked packet leads to a notification", `
			a SEND_ONLY psn=1 len=6 ack ce
				! ecn_ce a switch marked this packet...
			b ACKNOWLEDGE psn=1
			b CNP
				= tells QP 0x000011 to reduce its rate: a switch marked its packets
				role cnp flow=1 again=false
				! cnp packets of QP 0x000011 experience congestion: the sender must reduce its rate (frame 1 was marked)
			flow 1 cnps=1`},
		{"marks and notifications are a finding once in each direction of a flow, and counted", `
			a SEND_ONLY psn=1 len=6 ack ce
				= SEND #1 of 6 bytes, AckReq, ECN CE
				! ecn_ce ...
			b ACKNOWLEDGE psn=1 ce
				! ecn_ce ...
			a SEND_ONLY psn=2 len=6 ack ce
				= SEND #2 of 6 bytes, AckReq, ECN CE
			b CNP
				! cnp ...
			b CNP
				= tells QP 0x000011 to reduce its rate: a switch marked its packets
			flow 1 cnps=2 ce=3`},
		{"a notification alone", `
			b CNP to=0x99
				! cnp packets of QP 0x000099 experience congestion: the sender must reduce its rate
			flow 1 service=CNP cnps=1`},
	})
}

func TestLengthsThatLie(t *testing.T) {
	runScenarios(t, []scenario{
		{"a WRITE of another length than it announced", `
			a WRITE_FIRST psn=1 len=256 dma=300
			a WRITE_LAST psn=2 len=43
				! pad_or_length the WRITE of frame 1 has DMALen 300 but 299 bytes of payload
			a WRITE_ONLY psn=3 len=5 dma=4
				! pad_or_length the WRITE of frame 3 has DMALen 4 but 5 bytes of payload`},
		{"a first packet that is not full", `
			a SEND_FIRST psn=1 len=255
				! pad_or_length RC_SEND_FIRST with 255 bytes: every packet of a message except the last...`},
		{"a middle one that is not, either", `
			a SEND_FIRST psn=1 len=1024
			a SEND_MIDDLE psn=2 len=512
				! pad_or_length RC_SEND_MIDDLE carries 512 bytes, but the path MTU is 1024`},
		{"a last packet without bytes", `
			a SEND_FIRST psn=1 len=1024
			a SEND_LAST psn=2
				! pad_or_length the last packet of a multi-packet message is empty`},
		{"a READ that got less than it asked for", `
			a READ_REQUEST psn=1 dma=300
			b READ_RESPONSE_FIRST psn=1 len=256
			b READ_RESPONSE_LAST psn=2 len=43
				! pad_or_length the READ of frame 1 requested 300 bytes and received 299`},
		{"a packet whose length is not a multiple of four", `
			a SEND_ONLY psn=1 len=8
			a SEND_ONLY psn=2 len=8 cut=21
				= cannot be decoded: ...
				! pad_or_length ...length is not a multiple of 4...`},
		{"a packet that is too short for anything", `
			a SEND_ONLY psn=2 len=8 cut=9
				! malformed ...shorter than the 12-byte BTH...`},
		{"a host that never sets MigReq is told of once", `
			a SEND_ONLY psn=1 nom
			a SEND_ONLY psn=2 nom
			a SEND_ONLY psn=3 nom
			a SEND_ONLY psn=4 nom
			a SEND_ONLY psn=5 nom
			a SEND_ONLY psn=6 nom
			a SEND_ONLY psn=7 nom
			a SEND_ONLY psn=8 nom
				! no_migreq 10.0.0.1 has not set MigReq in its first 8 packets (Linux rxe never sets it)...
			a SEND_ONLY psn=9 nom`},
	})
}
