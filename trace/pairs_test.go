package trace_test

import "testing"

func TestDirectionsFindEachOther(t *testing.T) {
	runScenarios(t, []scenario{
		{"an acknowledgement goes with the requests that have its PSN", `
			a SEND_ONLY psn=100 len=1 ack to=0x21
			a SEND_ONLY psn=200 len=1 ack to=0x22
			b ACKNOWLEDGE psn=200 to=0x12
				= acknowledges SEND #1, 1ms latency
				role ack flow=2 again=false
			b ACKNOWLEDGE psn=100 to=0x11
				role ack flow=1 again=false
			a ACKNOWLEDGE psn=7 to=0x21
				role ack flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x21 running=false
			flow 2 ends=10.0.0.1/0x12-10.0.0.2/0x22`},
		{"queue pairs with the same PSNs are told apart when their PSNs are", `
			a SEND_ONLY psn=0 len=1 ack to=0x21
			a SEND_ONLY psn=0 len=1 ack to=0x22
			a SEND_ONLY psn=1 len=1 ack to=0x22
			b ACKNOWLEDGE psn=0 to=0x12
			b ACKNOWLEDGE psn=1 to=0x12
				role ack flow=2 again=false
			message SEND #1 done
			message SEND #2 done
			b ACKNOWLEDGE psn=0 to=0x11
				role ack flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x21
			flow 2 ends=10.0.0.1/0x12-10.0.0.2/0x22`},
		{"or by the UDP source port that Linux makes of both queue pair numbers", `
			a SEND_ONLY psn=0 len=1 ack to=0x21 port=49729
			a SEND_ONLY psn=0 len=1 ack to=0x22 port=49764
			b ACKNOWLEDGE psn=0 to=0x12 port=49764
				role ack flow=2 again=false
			b ACKNOWLEDGE psn=0 to=0x11 port=49713
			flow 2 ends=10.0.0.1/0x12-10.0.0.2/0x22`},
		{"even if all use the same", `
			a SEND_ONLY psn=0 len=1 ack to=0x21 port=49764
			a SEND_ONLY psn=0 len=1 ack to=0x22 port=49764
			b ACKNOWLEDGE psn=0 to=0x12 port=49764
				role ack flow=2 again=false
			flow 2 ends=10.0.0.1/0x12-10.0.0.2/0x22`},
		{"responses go with requests of their kind", `
			a SEND_ONLY psn=0 len=1 ack to=0x21
			a READ_REQUEST psn=0 dma=1 ack to=0x22
			b READ_RESPONSE_ONLY psn=0 len=1 to=0x12
				role response flow=2 again=false
			b ACKNOWLEDGE psn=0 to=0x11
				role ack flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x21`},
		{"a conversation that runs already begins with whatever comes", `
			b ACKNOWLEDGE psn=800049 to=0x11
				= acknowledges up to PSN 800049
			a WRITE_MIDDLE psn=800055 len=512
				= WRITE #1, which began before the capture: 512 bytes
				role request flow=1 again=false
			a WRITE_LAST psn=800056 len=5 ack
			b ACKNOWLEDGE psn=800054
				= acknowledges up to PSN 800054
			b ACKNOWLEDGE psn=800056
				= acknowledges WRITE #1, 3ms latency
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22 running=true mtu=512`},
		{"a first request does not continue the acknowledgements of another queue pair if both may have begun with PSN 0", `
			b ACKNOWLEDGE psn=49 to=0x11
			a WRITE_MIDDLE psn=55 len=512
				role request flow=2 again=false
			a WRITE_LAST psn=56 len=5 ack
			b ACKNOWLEDGE psn=56
				role ack flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22 running=true mtu=512`},
		{"both ends ask before anybody answers", `
			a SEND_MIDDLE psn=55 len=512
			b SEND_MIDDLE psn=99 len=512
				role request flow=2 again=false
			a SEND_LAST psn=56 len=5 ack
			b ACKNOWLEDGE psn=56
				role ack flow=1 again=false
			b SEND_LAST psn=100 len=5 ack
				role request flow=1 again=false
			a ACKNOWLEDGE psn=100
				role ack flow=1 again=false
			message SEND #1 done
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22 packets=6 messages=2`},
		{"responses of a READ before the directions are paired are not missing", `
			a READ_REQUEST psn=0 dma=3000 ack to=0x21
			a READ_REQUEST psn=0 dma=2000 ack to=0x22
			b READ_RESPONSE_FIRST psn=0 len=1024 to=0x11
			b READ_RESPONSE_MIDDLE psn=1 len=1024 to=0x11
			b READ_RESPONSE_FIRST psn=0 len=1024 to=0x12
			b READ_RESPONSE_LAST psn=1 len=976 to=0x12
			b READ_RESPONSE_LAST psn=2 len=952 to=0x11
			a SEND_ONLY psn=2 len=1 ack to=0x22
			a SEND_ONLY psn=3 len=1 ack to=0x21
			b ACKNOWLEDGE psn=3 to=0x11
				role ack flow=1 again=false
			b ACKNOWLEDGE psn=2 to=0x12
				role ack flow=2 again=false
			message READ #1 done
			message READ #1 done
			message SEND #2 done
			message SEND #2 done`},
		{"one acknowledgement does not pair connections whose PSNs are in step", `
			b ACKNOWLEDGE psn=19 to=0x11
			a SEND_ONLY psn=0 len=1 ack to=0x22
			a SEND_ONLY psn=0 len=1 ack to=0x23
			b ACKNOWLEDGE psn=0 to=0x13
			a SEND_ONLY psn=1 len=1 ack to=0x22
			a SEND_ONLY psn=7 len=1 ack to=0x24
				role request flow=5 again=false
			b ACKNOWLEDGE psn=0 to=0x12
			b ACKNOWLEDGE psn=1 to=0x12
				role ack flow=2 again=false
			flow 2 ends=10.0.0.1/0x12-10.0.0.2/0x22`},
		{"a MIDDLE response does not answer a READ that begins with its PSN", `
			a READ_REQUEST psn=26 dma=1024 ack to=0x22
			b READ_RESPONSE_MIDDLE psn=26 len=256 to=0x11
			b READ_RESPONSE_FIRST psn=26 len=256 to=0x12
				role response flow=1 again=false
			flow 1 ends=10.0.0.1/0x12-10.0.0.2/0x22`},
		{"a CNP before the first response belongs to the connection", `
			a SEND_ONLY psn=5 len=1 ack to=0x22 ce
				! ecn_ce ...
			b CNP to=0x11
				! cnp ...
			b ACKNOWLEDGE psn=5 to=0x11
				role ack flow=1 again=false
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22 cnps=1 ce=1`},
		{"a capture of one direction alone", `
			b ACKNOWLEDGE psn=5
			b ACKNOWLEDGE psn=6
			b READ_RESPONSE_ONLY psn=7 len=9
				= READ response to a request that is not in the capture
			b ACKNOWLEDGE psn=8
				= acknowledges up to PSN 8
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x0 running=true packets=4`},
		{"a queue pair number that begins anew with another PSN", `
			a SEND_ONLY psn=5 len=1 ack
			a SEND_ONLY psn=5000000 len=1 ack
			message SEND #1 failed: the connection began anew
			b ACKNOWLEDGE psn=5000000
				= acknowledges SEND #2, 1ms latency
			message SEND #2 done
			flow 1 lost=0`},
		{"with another path MTU", `
			a SEND_FIRST psn=5 len=1024
			a SEND_FIRST psn=5000000 len=256
			message SEND #1 failed: the connection began anew
			flow 1 mtu=256`},
		{"a NAK for what was sent before the capture began", `
			a WRITE_MIDDLE psn=807 len=256
			b ACKNOWLEDGE psn=750 syn=seq
				role ack flow=1 again=false
				! nak_sequence PSN 750 is missing at the responder: it was not captured; all earlier...
			a WRITE_MIDDLE psn=750 len=256
				! again_after_nak PSN 750 is retransmitted because of the sequence NAK in frame 2...
			flow 1 ends=10.0.0.1/0x11-10.0.0.2/0x22`},
		{"a repetition of what was sent before the capture began", `
			a WRITE_MIDDLE psn=807 len=256
			a WRITE_MIDDLE psn=750 len=256
				! again_after_timeout ...
			flow 1 window=58`},
		{"a message whose beginning was lost", `
			a SEND_ONLY psn=5 len=1
			a SEND_MIDDLE psn=7 len=256
				! gap PSN 6 ...
				= SEND #2, which began before the capture: 256 bytes
			a SEND_FIRST psn=6 len=256
				! again_after_timeout ...
			a SEND_MIDDLE psn=7 len=256
				! again_after_timeout ...
			a SEND_LAST psn=8 len=2 ack
			b ACKNOWLEDGE psn=8
				! ack_coalesced one acknowledgement for 2 messages, up to PSN 8
			flow 1 lost=1 messages=2`},
		{"the end of a message was lost", `
			a SEND_FIRST psn=5 len=256
			a SEND_ONLY psn=8 len=2 ack
				! gap PSNs 6 to 7 are missing...
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
				= requests PSN 6, packet 2 of SEND #1: it is missing...
			a SEND_MIDDLE psn=6 len=256
				! again_after_nak ...
				= SEND #1, packet 2: 256 bytes, retransmitted after a sequence NAK
			a SEND_LAST psn=7 len=9
				! again_after_nak ...
				= SEND #1, packet 3 of 3: 9 bytes, retransmitted after a sequence NAK
			flow 1 messages=2
			message SEND #2 open`},
		{"the end of one message and the beginning of the next were lost", `
			a SEND_FIRST psn=5 len=256
			a SEND_LAST psn=8 len=2 ack
				! gap PSNs 6 to 7 are missing...
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			a SEND_LAST psn=6 len=256
				! again_after_nak ...
			a SEND_FIRST psn=7 len=256
				! again_after_nak ...
				= SEND #2, packet 1...
			a SEND_LAST psn=8 len=2 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=8
				! ack_coalesced ...
			message SEND #1 done
			message SEND #2 done`},
	})
}
