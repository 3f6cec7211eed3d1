package trace_test

import "testing"

// A message whose first packets were lost before the capture point is one message after their
// retransmission, and later messages complete.
func TestMessagesThatAreCapturedFromTheirMiddle(t *testing.T) {
	runScenarios(t, []scenario{
		{"the first packet of a WRITE is lost and retransmitted", `
			a WRITE_ONLY psn=5 len=9 dma=9 ack
			b ACKNOWLEDGE psn=5 msn=1
			a WRITE_MIDDLE psn=7 len=1024
				! gap ...
			a WRITE_LAST psn=8 len=952 ack
			b ACKNOWLEDGE psn=6 syn=seq msn=1
				! nak_sequence ...
			a WRITE_FIRST psn=6 len=1024 dma=3000
				= WRITE #2, packet 1 of 3: 1024 of 3000 bytes...
				! again_after_nak ...
			a WRITE_MIDDLE psn=7 len=1024
				! again_after_nak ...
			a WRITE_LAST psn=8 len=952 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=8 msn=2
				= acknowledges WRITE #2, 6ms latency
			a SEND_ONLY psn=9 len=9 ack
			b ACKNOWLEDGE psn=9 msn=3
				= acknowledges SEND #3...
			message WRITE #1 done
			message WRITE #2 done
			message SEND #3 done
			flow 1 messages=3 payload=3018`},
		{"the first packets of a SEND are lost and retransmitted", `
			a WRITE_ONLY psn=5 len=9 dma=9 ack
			b ACKNOWLEDGE psn=5 msn=1
			a SEND_MIDDLE psn=8 len=1024
				! gap ...
			a SEND_LAST psn=9 len=952 ack
			b ACKNOWLEDGE psn=6 syn=seq msn=1
				! nak_sequence ...
			a SEND_FIRST psn=6 len=1024
				! again_after_nak ...
			a SEND_MIDDLE psn=7 len=1024
				= SEND #2, packet 2...
				! again_after_nak ...
			a SEND_MIDDLE psn=8 len=1024
				! again_after_nak ...
			a SEND_LAST psn=9 len=952 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=9 msn=2
				= acknowledges SEND #2, 7ms latency
			a SEND_ONLY psn=10 len=9 ack
			b ACKNOWLEDGE psn=10 msn=3
			message SEND #2 done
			message SEND #3 done
			flow 1 messages=3 payload=4042`},
		{"the first packets of a WRITE are lost, and a requester goes back to the middle of them", `
			a WRITE_MIDDLE psn=8 len=1024
			a WRITE_LAST psn=9 len=952 ack
			b ACKNOWLEDGE psn=6 syn=seq msn=1
				! nak_sequence ...
			a WRITE_MIDDLE psn=6 len=1024
				! again_after_nak ...
			a WRITE_MIDDLE psn=7 len=1024
				! again_after_nak ...
			a WRITE_MIDDLE psn=8 len=1024
				! again_after_nak ...
			a WRITE_LAST psn=9 len=952 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=9 msn=2
			message WRITE #1 done
			flow 1 messages=1`},
		{"the middle of a message is never captured, and later messages complete", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 msn=1
			a SEND_LAST psn=8 len=9 ack
				! gap ...
			b ACKNOWLEDGE psn=6 syn=seq msn=1
				! nak_sequence ...
			a SEND_FIRST psn=6 len=1024
				! again_after_nak ...
			a SEND_LAST psn=8 len=9 ack
				! gap ...
				! again_after_nak ...
			b ACKNOWLEDGE psn=8 msn=2
				! responder_breaks_go_back_n ...
				! ack_coalesced ...
			a SEND_ONLY psn=9 len=9 ack
			b ACKNOWLEDGE psn=9 msn=3
			message SEND #1 done
			message SEND #2 done
			message SEND #3 done
			message SEND #4 done`},
	})
}
