package trace_test

import "testing"

// What a capture shows of a cause, and when it shows more than one.
func TestCausesThatTheCaptureDoesNotDecide(t *testing.T) {
	runScenarios(t, []scenario{
		{"two round trips after the request no timer has expired", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
				! again_undecided PSN 6 is retransmitted 1ms after frame 3, too early for the requester's timer: the capture missed a NAK, or an earlier packet of the retransmission was lost before the capture point
			flow 1 timeouts=0 undecided=1`},
		{"the timer, known from an earlier timeout, expires when the NAK arrives", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9 ack
			+50ms
			a SEND_ONLY psn=6 len=9 ack
				! again_after_timeout ...
			b ACKNOWLEDGE psn=6
			a SEND_ONLY psn=7 len=9 ack
			+49ms
			a SEND_ONLY psn=8 len=9 ack
			b ACKNOWLEDGE psn=7 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=7 len=9 ack
				! again_undecided PSN 7 is retransmitted because frame 8 requests it, or because the requester's timer expired, which takes at most 51ms on this connection
			flow 1 timeouts=1 undecided=1`},
		{"one NAK does not cause two retransmissions", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9
			+2ms
			a SEND_ONLY psn=7 len=9 ack
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=6 len=9
				! again_after_nak ...
			a SEND_ONLY psn=6 len=9
				! again_undecided ...
			flow 1 timeouts=0 undecided=1`},
		{"a NAK whose PSN was retransmitted and acknowledged is the cause of nothing any more", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9
			a SEND_ONLY psn=7 len=9
			a SEND_ONLY psn=8 len=9 ack
			b ACKNOWLEDGE psn=7 syn=seq
				! nak_sequence ...
			+50ms
			a SEND_ONLY psn=6 len=9
				! again_after_timeout ...
			a SEND_ONLY psn=7 len=9
				! again_after_timeout ...
			a SEND_ONLY psn=8 len=9 ack
				! again_after_timeout ...
			b ACKNOWLEDGE psn=8
				! ack_coalesced ...
			a READ_REQUEST psn=9 dma=9 ack
			b READ_RESPONSE_ONLY psn=9 len=9
			+50ms
			a READ_REQUEST psn=9 dma=9 ack
				! again_after_timeout PSN 9 is retransmitted 52ms after frame 11...
				! read_again ...
			flow 1 timeouts=2 undecided=0`},
		{"a retransmission that goes on after a long pause is a new one", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9
			a SEND_ONLY psn=7 len=9
			a SEND_ONLY psn=8 len=9 ack
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=6 len=9
				! again_after_nak ...
			a SEND_ONLY psn=7 len=9
				! again_after_nak ...
			b ACKNOWLEDGE psn=7
				! ack_coalesced ...
			+50ms
			a SEND_ONLY psn=8 len=9 ack
				! again_after_timeout PSN 8 is retransmitted 55ms after frame 5...
			flow 1 timeouts=1`},
		{"a retransmission before the end of the RNR wait may answer the sequence NAK after it", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9 ack
			a SEND_ONLY psn=7 len=9 ack
			b ACKNOWLEDGE psn=6 syn=rnr31
				! rnr_nak ...
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=6 len=9 ack
				! again_undecided PSN 6 is retransmitted earlier than the RNR NAK in frame 5 permits: it was lost, and the sequence NAK in frame 6 is the cause, or the requester did not wait
			flow 1 timeouts=0 undecided=1`},
		{"a NAK that also implies a lost response may have begun a retransmission that was lost", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=9 ack
			a SEND_ONLY psn=7 len=9
			a SEND_ONLY psn=8 len=9 ack
			b ACKNOWLEDGE psn=7 syn=seq
				! implied_nak ...
				! nak_sequence ...
			a SEND_ONLY psn=7 len=9
				! again_undecided PSN 7 is retransmitted: frame 6 requests it and implies that the response to PSN 6 was lost (implied NAK); whether the retransmission began there and was lost is not known
			flow 1 timeouts=0 undecided=1`},
		{"a NAK implies that the response before its PSN was lost after the capture point", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=9 ack
			a SEND_ONLY psn=7 len=9
			a SEND_ONLY psn=8 len=9 ack
			b READ_RESPONSE_ONLY psn=6 len=9
			b ACKNOWLEDGE psn=7 syn=seq
				! nak_sequence ...
			a READ_REQUEST psn=6 dma=9 ack
				! again_undecided the request is retransmitted from PSN 6 on, 5ms after frame 3, although responses were captured...
				! read_again ...
			flow 1 timeouts=0 undecided=1`},
	})
}

func TestResponsesThatTheCaptureMissed(t *testing.T) {
	runScenarios(t, []scenario{
		{"a requester that goes on long after an implied NAK has the response", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=9 ack
			a SEND_ONLY psn=7 len=9 ack
			b ACKNOWLEDGE psn=7
				! implied_nak ...
			+50ms
			a SEND_ONLY psn=8 len=9 ack
			b ACKNOWLEDGE psn=8
				= acknowledges SEND #4, 1ms latency
			message READ #2 done
			message SEND #3 done
			message SEND #4 done
			flow 1 timeouts=0`},
		{"a request for the rest of a READ tells its path MTU", `
			a READ_REQUEST psn=10 dma=3000 va=0x5000 rkey=0x9 ack
			a READ_REQUEST psn=12 dma=952 va=0x5800 rkey=0x9 ack
				role request flow=1 again=true
				! again_after_timeout ...
				! read_again ...
			flow 1 mtu=1024 lost=0`},
	})
}
