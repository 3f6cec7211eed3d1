package trace_test

import "testing"

func TestReads(t *testing.T) {
	runScenarios(t, []scenario{
		{"a READ is answered by as many responses as the path MTU makes of it", `
			a READ_REQUEST psn=10 dma=2500 va=0x5000 rkey=0x9 ack
				= READ #1 asks for 2500 bytes at 0x5000, key 0x9, AckReq
			b READ_RESPONSE_FIRST psn=10 len=1024
				= READ #1: response 1 of 3, 1024 bytes
			b READ_RESPONSE_MIDDLE psn=11 len=1024
			b READ_RESPONSE_LAST psn=12 len=452
				= READ #1: response 3 of 3, 452 bytes, 3ms latency
			a READ_REQUEST psn=13 dma=1025 ack
				= READ #2 asks for 1025 bytes at 0x1000, key 0x77, in 2 responses, AckReq
			message READ #1 done
			flow 1 mtu=1024 payload=2500 rtts=1 window=3`},
		{"the PSN of what follows tells the path MTU, too", `
			a READ_REQUEST psn=10 dma=2048 ack
			a SEND_ONLY psn=14 len=1 ack
			flow 1 mtu=512 lost=0`},
		{"a single response tells no path MTU: it may be the greatest", `
			a READ_REQUEST psn=10 dma=569 ack
			a SEND_ONLY psn=11 len=1 ack
			a READ_REQUEST psn=12 dma=2048 ack
				= READ #3 asks for 2048 bytes at 0x1000, key 0x77, AckReq
			b READ_RESPONSE_ONLY psn=12 len=2048
				! implied_nak ...
			flow 1 mtu=0`},
		{"a requester that repeats one packet goes on behind the READ whose length the next PSN tells", `
			a SEND_ONLY psn=9 len=1 ack
			a READ_REQUEST psn=10 dma=2048
			b ACKNOWLEDGE psn=9 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=9 len=1 ack
				! again_after_nak ...
			a SEND_ONLY psn=12 len=1 ack
				role request flow=1 again=false
			flow 1 mtu=1024 lost=0`},
		{"who asks for the rest of a READ has what is before it", `
			a READ_REQUEST psn=10 dma=1024
			b READ_RESPONSE_FIRST psn=10 len=256
			b READ_RESPONSE_MIDDLE psn=11 len=256
			a SEND_ONLY psn=14 len=1 ack
			a READ_REQUEST psn=11 dma=768
				! again_after_timeout ...
				! read_again ...
			b ACKNOWLEDGE psn=14
				! implied_nak ...
			a READ_REQUEST psn=12 dma=512
				! implied_nak the request is retransmitted from PSN 12 on because...
				! read_again ...
			flow 1 lost=0`},
		{"a response acknowledges what was asked before", `
			a SEND_ONLY psn=9 len=1
			a READ_REQUEST psn=10 dma=5 ack
			b READ_RESPONSE_ONLY psn=10 len=5
				= READ #2 completed: 5 bytes, 1ms latency
			message SEND #1 done
			message READ #2 done`},
		{"an empty READ is answered by an empty response", `
			a READ_REQUEST psn=10 dma=0 ack
			b READ_RESPONSE_ONLY psn=10
			message READ #1 done`},
		{"a lost response is asked for again from where it is missing", `
			a READ_REQUEST psn=9 dma=512 ack
			b READ_RESPONSE_FIRST psn=9 len=256
			b READ_RESPONSE_LAST psn=10 len=256
			a READ_REQUEST psn=11 dma=1000 va=0x5000 ack
			b READ_RESPONSE_FIRST psn=11 len=256
			b READ_RESPONSE_MIDDLE psn=13 len=256
				! gap PSN 12 of the responses to the READ of frame 4 is missing before this packet: lost...
				! implied_nak this responds to a request after PSN 12, but response 2 to the READ of frame 4 is missing: the requester treats this as a NAK and retries (implied NAK)
			b READ_RESPONSE_LAST psn=14 len=232
			a READ_REQUEST psn=12 dma=744 va=0x5100 ack
				role request flow=1 again=true
				! implied_nak the request is retransmitted from PSN 12 on because frame 6 implies that a response was lost (implied NAK)
				! read_again the request for the READ of frame 4 is retransmitted for the rest, from response 2 on: 744 bytes at address 0x5100
			b READ_RESPONSE_FIRST psn=12 len=256
				role response flow=1 again=true
			b READ_RESPONSE_MIDDLE psn=13 len=256
				role response flow=1 again=true
			b READ_RESPONSE_LAST psn=14 len=232
				= READ #2: response 4 of 4, 232 bytes, retransmitted, 7ms latency
			message READ #2 done
			flow 1 lost=1 timeouts=0`},
		{"responses that passed count, although the READ is requested again", `
			a READ_REQUEST psn=10 dma=1024
			b READ_RESPONSE_FIRST psn=10 len=256
			b READ_RESPONSE_MIDDLE psn=11 len=256
			a SEND_ONLY psn=14 len=1 ack
			a READ_REQUEST psn=10 dma=1024
				= READ #1 asks for 1024 bytes at 0x1000, key 0x77, in 4 responses, retransmitted
				! again_undecided the request is retransmitted from PSN 10 on, 4ms after frame 1, although responses were captured: they were lost or reordered after the capture point, or the requester's timer expired
				! read_again ...
			b READ_RESPONSE_MIDDLE psn=12 len=256
			b READ_RESPONSE_LAST psn=13 len=256
				= READ #1: response 4 of 4, 256 bytes, 6ms latency
			b ACKNOWLEDGE psn=14
			b READ_RESPONSE_FIRST psn=10 len=256
				! duplicate response PSN 10 was captured before; its request was retransmitted
			b READ_RESPONSE_MIDDLE psn=11 len=256
				! duplicate ...
			b READ_RESPONSE_MIDDLE psn=12 len=256
				! duplicate ...
			b READ_RESPONSE_LAST psn=13 len=256
				! duplicate ...
			a SEND_ONLY psn=15 len=1
			message READ #1 done
			message SEND #2 done
			flow 1 lost=0 again=5 timeouts=0 undecided=1 window=4`},
		{"a READ that is not answered is asked for again by the timer", `
			a READ_REQUEST psn=11 dma=100 ack
			+67ms
			a READ_REQUEST psn=11 dma=100 ack
				! again_after_timeout ...
				! read_again the request for the whole READ of frame 1 is retransmitted: 100 bytes
			b READ_RESPONSE_ONLY psn=11 len=100
			b READ_RESPONSE_ONLY psn=11 len=100
				= READ #1 completed: 100 bytes, retransmitted
				! duplicate ...
			message READ #1 done`},
		{"an acknowledgement of what follows a READ without its data is an implied NAK", `
			a READ_REQUEST psn=11 dma=100 ack
			a SEND_ONLY psn=12 len=1 ack
			b ACKNOWLEDGE psn=12
				= acknowledges up to PSN 12, beyond READ #1, whose response is missing
				! implied_nak this responds to a request after PSN 11, but the response to the READ of frame 1 is missing...
			a READ_REQUEST psn=11 dma=100 ack
				! implied_nak the request is retransmitted from PSN 11 on because frame 3 implies...
				! read_again ...
			a SEND_ONLY psn=12 len=1 ack
				! implied_nak PSN 12 is retransmitted, too...
			b READ_RESPONSE_ONLY psn=11 len=100
			b ACKNOWLEDGE psn=12
			message READ #1 done
			message SEND #2 done
			flow 1 timeouts=0`},
		{"FLUSH and ATOMIC WRITE are answered by empty READ responses, or by an acknowledgement of what follows", `
			a FLUSH psn=11 dma=100
				= FLUSH #1 asks for 100 bytes at 0x1000, key 0x77 to be flushed
			b READ_RESPONSE_ONLY psn=11
				= FLUSH #1 completed, 1ms latency
			a ATOMIC_WRITE psn=12 dma=8 len=8
			a SEND_ONLY psn=13 len=1 ack
			b ACKNOWLEDGE psn=13
				! ack_coalesced ...
			message FLUSH #1 done
			message ATOMIC WRITE #2 done`},
		{"responses that are no READ's", `
			a SEND_ONLY psn=11 len=9 ack
			b ACKNOWLEDGE psn=11
			b READ_RESPONSE_ONLY psn=11 len=9
				= READ response to a request that is not in the capture
				! responder_breaks_go_back_n response to PSN 11 without a captured request...`},
	})
}

func TestAtomics(t *testing.T) {
	runScenarios(t, []scenario{
		{"the only answer to a retransmitted atomic replays nothing", `
			a FETCH_ADD psn=11 add=3 ack
			+67ms
			a FETCH_ADD psn=11 add=3 ack
				! again_after_timeout ...
			b ATOMIC_ACKNOWLEDGE psn=11 value=5
			message FAA #1 done`},
		{"an atomic tells what it found", `
			a COMPARE_SWAP psn=11 cmp=5 add=6 va=0x8 rkey=0x7 ack
				= CAS #1 stores 0x6 at 0x8, key 0x7, if it finds 0x5, AckReq
			b ATOMIC_ACKNOWLEDGE psn=11 value=5
				= CAS #1 found 0x5 and stored 0x6, 1ms latency
			a FETCH_ADD psn=12 add=3 ack
				= FAA #2 adds 0x3 at 0x1000, key 0x77, AckReq
			b ATOMIC_ACKNOWLEDGE psn=12 value=6
			message CAS #1 done
			message FAA #2 done
			flow 1 rtts=2`},
		{"a repeated atomic is answered from memory", `
			a FETCH_ADD psn=12 add=3 ack
			b ATOMIC_ACKNOWLEDGE psn=12 value=6
			+50ms
			a FETCH_ADD psn=12 add=3 ack
				! again_after_timeout ...
			b ATOMIC_ACKNOWLEDGE psn=12 value=6
				role response flow=1 again=true
				! atomic_replayed the duplicate FAA is answered with the saved result, 0x6, and not executed a second time`},
		{"one that was executed twice finds something else", `
			a FETCH_ADD psn=12 add=3 ack
			b ATOMIC_ACKNOWLEDGE psn=12 value=6
			+50ms
			a FETCH_ADD psn=12 add=3 ack
				! again_after_timeout ...
			b ATOMIC_ACKNOWLEDGE psn=12 value=9
				! atomic_replayed the duplicate FAA of frame 1 returned 0x9 and the first 0x6: the responder executed it twice...`},
	})
}
