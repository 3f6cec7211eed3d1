package trace_test

import "testing"

// Cases in which the simulation of package gobackn contradicted the Analyzer.
func TestCausesOfGoBacks(t *testing.T) {
	runScenarios(t, []scenario{
		{"the rest of a READ is requested although its responses passed: the cause is not in the capture", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=3000 ack
			b READ_RESPONSE_FIRST psn=6 len=1024
			b READ_RESPONSE_MIDDLE psn=7 len=1024
			b READ_RESPONSE_LAST psn=8 len=952
			a READ_REQUEST psn=7 dma=1976 ack
				! again_undecided the request is retransmitted from PSN 7 on, 4ms after frame 3, although responses were captured...
				! read_again ...
			flow 1 timeouts=0 undecided=1`},
		{"only the timer can tell a requester that the last response of all is missing", `
			a READ_REQUEST psn=6 dma=3000 ack
			b READ_RESPONSE_FIRST psn=6 len=1024
			b READ_RESPONSE_MIDDLE psn=7 len=1024
			b READ_RESPONSE_LAST psn=8 len=952
			a READ_REQUEST psn=8 dma=952 ack
				! again_after_timeout PSN 8 is retransmitted 4ms after frame 1...
				! read_again ...
			flow 1 timeouts=1`},
		{"the response to an atomic passed and so did a later one: the cause is not in the capture", `
			a FETCH_ADD psn=6 ack
			a SEND_ONLY psn=7 len=9 ack
			b ATOMIC_ACKNOWLEDGE psn=6
			b ACKNOWLEDGE psn=7
			a FETCH_ADD psn=6 ack
				! again_undecided ...
			a SEND_ONLY psn=7 len=9 ack
				! again_undecided ...
			flow 1 timeouts=0 undecided=1`},
		{"two NAKs are on their way before the requester reacts to the first", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a SEND_ONLY psn=6 len=9
			a SEND_ONLY psn=7 len=9
			a SEND_ONLY psn=8 len=9
			a SEND_ONLY psn=9 len=9 ack
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			b ACKNOWLEDGE psn=7 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=6 len=9
				! again_after_nak PSN 6 is retransmitted because of the sequence NAK in frame 7
			a SEND_ONLY psn=7 len=9
				! again_after_nak PSN 7 is retransmitted, too...
			a SEND_ONLY psn=7 len=9
				! again_after_nak PSN 7 is retransmitted because of the sequence NAK in frame 8
			a SEND_ONLY psn=8 len=9
				! again_after_nak PSN 8 is retransmitted, too...
			flow 1 timeouts=0 naks=2`},
		{"a NAK is answered after a go-back to an older PSN that has another cause", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=9
			a SEND_ONLY psn=7 len=9
			a SEND_ONLY psn=9 len=9 ack
				! gap ...
			b ACKNOWLEDGE psn=7
				! implied_nak ...
			b ACKNOWLEDGE psn=8 syn=seq
				! nak_sequence ...
			a READ_REQUEST psn=6 dma=9
				! implied_nak ...
				! read_again ...
			a SEND_ONLY psn=7 len=9
				! implied_nak ...
			a SEND_ONLY psn=8 len=9
				! implied_nak ...
			a SEND_ONLY psn=8 len=9
				! again_after_nak PSN 8 is retransmitted because of the sequence NAK in frame 7
			flow 1 timeouts=0`},
		{"while the responses of one READ are missing, gaps in those of later READs change nothing", `
			a READ_REQUEST psn=6 dma=3000
			a READ_REQUEST psn=9 dma=3000 ack
			b READ_RESPONSE_FIRST psn=6 len=1024
			b READ_RESPONSE_LAST psn=8 len=952
				! gap ...
				! implied_nak ...
			b READ_RESPONSE_FIRST psn=9 len=1024
			b READ_RESPONSE_LAST psn=11 len=952
				! gap ...
			a READ_REQUEST psn=7 dma=1976
				! implied_nak the request is retransmitted from PSN 7 on because frame 4 implies that a response was lost (implied NAK)
				! read_again ...
			a READ_REQUEST psn=9 dma=3000 ack
				! implied_nak ...
				! read_again ...
			flow 1 timeouts=0`},
		{"a requester that does not react to an implied NAK waits for its timer", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a FETCH_ADD psn=6
			a SEND_ONLY psn=7 len=9 ack
			b ACKNOWLEDGE psn=7
				! implied_nak ...
			+50ms
			a FETCH_ADD psn=6
				! again_after_timeout PSN 6 is retransmitted 53ms after frame 3: the requester's timer expired...; frame 5 implied it 51ms earlier and was probably lost
			flow 1 timeouts=1`},
		{"after a gap in the responses, the answers to later READs and atomics do not move the window", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=9
			a SEND_ONLY psn=7 len=9
			a FETCH_ADD psn=8 ack
			b ATOMIC_ACKNOWLEDGE psn=8
				! implied_nak ...
			a READ_REQUEST psn=6 dma=9
				! implied_nak ...
				! read_again ...
			a SEND_ONLY psn=7 len=9
				! implied_nak ...
			a FETCH_ADD psn=8 ack
				! implied_nak ...
			b READ_RESPONSE_ONLY psn=6 len=9
			b ACKNOWLEDGE psn=7
				= acknowledges SEND #3, 7ms latency
			b ATOMIC_ACKNOWLEDGE psn=8
				role response flow=1 again=true
				! atomic_replayed ...
			message READ #2 done
			message SEND #3 done
			message FAA #4 done
			flow 1 again=4 window=3`},
		{"the request for the rest of a READ is lost, and the capture shows the packets after it", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			a READ_REQUEST psn=6 dma=3000
			a SEND_ONLY psn=9 len=9 ack
			b READ_RESPONSE_FIRST psn=6 len=1024
			b READ_RESPONSE_LAST psn=8 len=952
				! gap ...
				! implied_nak ...
			a SEND_ONLY psn=9 len=9 ack
				! implied_nak the request is retransmitted from PSN 9 on because frame 6 implies that a response was lost (implied NAK)
				! gap ...
			flow 1 timeouts=0`},
		{"a reordered packet is part of its message, even if the NAK for it came first", `
			a SEND_FIRST psn=5 len=1024 id=1000
			a SEND_LAST psn=7 len=9 ack id=1002
				! gap ...
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			a SEND_MIDDLE psn=6 len=1024 id=1001
				role request flow=1 again=false
				! reordered ...
			a SEND_MIDDLE psn=6 len=1024 id=1003
				! again_after_nak PSN 6 is retransmitted because of the sequence NAK in frame 3
			a SEND_LAST psn=7 len=9 ack id=1004
				! again_after_nak ...
			b ACKNOWLEDGE psn=7
			message SEND #1 done
			flow 1 again=2 lost=0 payload=2057`},
	})
}
