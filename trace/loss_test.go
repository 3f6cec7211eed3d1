package trace_test

import "testing"

func TestLossesAndWhatTheyLeadTo(t *testing.T) {
	runScenarios(t, []scenario{
		{"a packet that was lost before the capture shows in the next one, and the NAK asks for it", `
			a WRITE_FIRST psn=100 len=1024 dma=3000
				= WRITE #1, packet 1 of 3: 1024 of 3000 bytes to 0x1000, key 0x77
			a WRITE_LAST psn=102 len=952 ack
				= WRITE #1, packet 3 of 3: 952 bytes, AckReq
				! gap PSN 101 is missing before this packet: lost before the capture point, or missed by the capture
			b ACKNOWLEDGE psn=101 syn=seq
				= requests PSN 101, packet 2 of WRITE #1: it is missing at the responder
				! nak_sequence PSN 101 is missing at the responder: it was lost before frame 2, which arrived instead; all earlier...
			a WRITE_MIDDLE psn=101 len=1024
				role request flow=1 again=true
				! again_after_nak PSN 101 is retransmitted because of the sequence NAK in frame 3; it was not captured before
			a WRITE_LAST psn=102 len=952 ack
				role request flow=1 again=true
				! again_after_nak PSN 102 is retransmitted, too: the requester went back in frame 4...
			b ACKNOWLEDGE psn=102
				= acknowledges WRITE #1, 5ms latency
			message WRITE #1 done
			flow 1 lost=1 again=2 naks=1 timeouts=0 payload=3000 mtu=1024 packets=6 window=3 rtts=0`},
		{"a packet that was lost behind the capture is named by the NAK", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence PSN 5 is missing at the responder: frame 1 was captured and lost after the capture point...
			a SEND_ONLY psn=5 len=9 ack
				= SEND #1 of 9 bytes, retransmitted after a sequence NAK, AckReq
				! again_after_nak PSN 5 is retransmitted because of the sequence NAK in frame 3
			b ACKNOWLEDGE psn=5
			flow 1 lost=0 again=1 payload=18`},
		{"a requester that repeats one packet goes on where it was, and the responder had kept the rest", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=10 ack
			a SEND_ONLY psn=7 len=11 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence PSN 5 is missing at the responder: frame 1 was captured and lost after the capture point; all earlier PSNs are acknowledged
			a SEND_ONLY psn=5 len=9 ack
				! again_after_nak PSN 5 is retransmitted because of the sequence NAK in frame 4
			a SEND_ONLY psn=8 len=12 ack
				role request flow=1 again=false
			b ACKNOWLEDGE psn=8
				! kept_early PSNs up to 8 are acknowledged, and those after 5 were not retransmitted: the responder had kept them (no go-back-N)
				! ack_coalesced ...
			a SEND_ONLY psn=9 len=1 ack
			b ACKNOWLEDGE psn=9
			flow 1 lost=0 again=1 naks=1 payload=43`},
		{"the responder's next gap is asked for at once", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=10 ack
			a SEND_ONLY psn=7 len=11 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=7 syn=seq
				! kept_early PSNs up to 6 are acknowledged, and those after 5 were not retransmitted: the responder had kept them (no go-back-N)
				! nak_sequence PSN 7 is missing at the responder: frame 3 was captured and lost after the capture point; all earlier PSNs are acknowledged
			a SEND_ONLY psn=7 len=11 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=7
			flow 1 lost=0 again=2 naks=2 payload=30`},
		{"a requester whose probe crosses the NAK repeats one after the other, and goes on where it was", `
			a SEND_ONLY psn=5 len=9
			a SEND_ONLY psn=6 len=10
			a SEND_ONLY psn=7 len=11
			a SEND_ONLY psn=8 len=12 ack
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence PSN 6 is missing at the responder: frame 2 was captured and lost after the capture point; all earlier PSNs are acknowledged
			a SEND_ONLY psn=5 len=9 ack
				! again_after_timeout ...
			a SEND_ONLY psn=6 len=10 ack
				! again_after_timeout PSN 6 is retransmitted, too...
			a SEND_ONLY psn=9 len=13 ack
				role request flow=1 again=false
			b ACKNOWLEDGE psn=9
				! ack_coalesced ...
			flow 1 lost=0 again=2 naks=1`},
		{"who repeats what was not asked for repeats all, and what is not among it is missing", `
			a SEND_ONLY psn=5 len=9
			a SEND_ONLY psn=6 len=10
			a SEND_ONLY psn=7 len=11
			a SEND_ONLY psn=8 len=12 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=5 len=9
				! again_after_nak ...
			a SEND_ONLY psn=6 len=10
				! again_after_nak PSN 6 is retransmitted, too...
			a SEND_ONLY psn=9 len=13 ack
				! gap PSNs 7 to 8 are missing before this packet: the retransmission was lost, too, or missed by the capture
			flow 1 lost=2 again=2 naks=1`},
		{"one gap after the other is asked for and repeated, and the requester goes on where it was", `
			a SEND_ONLY psn=5 len=9
			a SEND_ONLY psn=6 len=10
			a SEND_ONLY psn=7 len=11
			a SEND_ONLY psn=8 len=12
			a SEND_ONLY psn=9 len=13 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=6
				! kept_early PSNs up to 6 are acknowledged, and those after 5 were not retransmitted: the responder had kept them (no go-back-N)
				! ack_coalesced ...
			a SEND_ONLY psn=7 len=11 ack
				! again_after_nak PSN 7 is retransmitted, too...
			b ACKNOWLEDGE psn=8 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=8 len=12 ack
				! again_after_nak PSN 8 is retransmitted because of the sequence NAK in frame 10
			a SEND_ONLY psn=10 len=14 ack
				role request flow=1 again=false
			flow 1 lost=0 again=3 naks=2`},
		{"what is lost behind a packet that was repeated alone is missing, and no more", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=10 ack
			a SEND_ONLY psn=7 len=11 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_nak ...
			a SEND_ONLY psn=10 len=12 ack
				! gap PSNs 8 to 9 are missing before this packet: lost before the capture point, or missed by the capture
			flow 1 lost=2 again=1`},
		{"a packet with a wrong ICRC is what the NAK is about", `
			a SEND_ONLY psn=4 len=9
			a SEND_ONLY psn=5 len=9 ack bad
				= SEND #2 of 9 bytes, AckReq
				! icrc_wrong ICRC 0x00000001, expected 0x00000002: the packet was corrupted in transit...
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence PSN 5 is missing at the responder: frame 2 had a wrong ICRC, so it was dropped...
			flow 1 payload=9`},
		{"what else has a wrong ICRC says nothing", `
			a SEND_ONLY psn=4 len=9
			a SEND_ONLY psn=400 len=9 bad
				= SEND with PSN 400, wrong ICRC: dropped by the receiver
				! icrc_wrong ...
			a UC_SEND_ONLY psn=4 bad
				! icrc_wrong ...
			a UD_SEND_ONLY psn=4 bad
				! icrc_wrong ...
			a REQ comm=1 qpn=0x99 bad
				= SEND with PSN 0, wrong ICRC: dropped by the receiver
				! icrc_wrong ...
			a SEND_ONLY psn=5 len=9
				role request flow=1 again=false
			b ACKNOWLEDGE psn=5
				! ack_coalesced ...
			b ACKNOWLEDGE psn=3 syn=seq bad
				= acknowledgement with PSN 3, wrong ICRC: dropped by the receiver
				! icrc_wrong ...
			flow 1 lost=0 naks=0 packets=7`},
		{"where all ICRCs of a host are wrong they are computed behind the capture, and say nothing", `
			a SEND_ONLY psn=4 len=9 ack bad
				! icrc_wrong ICRC 0x00000001, expected 0x00000002; no packet from 10.0.0.1 had a correct one...
			b ACKNOWLEDGE psn=4
			a SEND_ONLY psn=5 len=9 ack bad
				! icrc_wrong ...
			b ACKNOWLEDGE psn=5
			message SEND #1 done
			message SEND #2 done`},
		{"a repetition of what is long acknowledged is no message of its own", `
			b ACKNOWLEDGE psn=99
			a SEND_ONLY psn=100 len=9 ack
			b ACKNOWLEDGE psn=100
			a SEND_ONLY psn=99 len=9 ack
				= SEND with PSN 99, retransmitted although its message was acknowledged before
				! again_after_timeout ...
			flow 1 messages=1 again=1`},
		{"a lost READ request is one lost packet, although it takes the PSNs of its responses", `
			a WRITE_FIRST psn=3 len=256 dma=257
			a WRITE_LAST psn=4 len=1 ack
			b ACKNOWLEDGE psn=4
			a SEND_ONLY psn=9 len=9 ack
				! gap PSNs 5 to 8 are missing before this packet: lost...
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence PSN 5 is missing at the responder: it was lost before frame 4,...
			a READ_REQUEST psn=5 dma=1024
				! again_after_nak ...
				! read_again ...
			flow 1 lost=1 behind=0`},
		{"a packet that was captured before a NAK requests it was lost behind the capture point", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence PSN 5 is missing at the responder: frame 1 was captured and lost after the capture point;...
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_nak ...
			a SEND_ONLY psn=6 len=9 ack
				! again_after_nak ...
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			flow 1 lost=0 behind=2 naks=3`},
		{"the time of a flow in which nothing is outstanding is idle", `
			a SEND_ONLY psn=5 len=9 ack
			+2ms
			b ACKNOWLEDGE psn=5
			+500ms
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=6
			flow 1 active=4ms`},
		{"packets that the network duplicated are counted", `
			a SEND_ONLY psn=5 len=9 ack id=1001
			a SEND_ONLY psn=5 len=9 ack id=1001
				! duplicate PSN 5 was captured before, in frame 1: the network duplicated that packet
			flow 1 duplicates=1 again=0`},
		{"nobody asks, so it was the timer", `
			a SEND_ONLY psn=5 len=9 ack
			+67ms
			a SEND_ONLY psn=5 len=9 ack
				= SEND #1 of 9 bytes, retransmitted after a timeout, AckReq
				! again_after_timeout PSN 5 is retransmitted 68ms after frame 1 without a NAK: the requester's timer expired, although the capture has no gap up to PSN 5: packets were lost after the capture point, or the acknowledgement was lost or late
			b ACKNOWLEDGE psn=5
			flow 1 timeouts=1 again=1`},
		{"the acknowledgement was captured, but the requester did not receive it in time", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			+67ms
			a SEND_ONLY psn=5 len=9 ack
				! again_after_timeout PSN 5 is retransmitted ... the requester's timer expired, although the PSN was acknowledged: the acknowledgement was lost after the capture point, or late
			b ACKNOWLEDGE psn=5
			flow 1 timeouts=1 again=1`},
		{"the last packet was lost, and only the timer can tell", `
			a SEND_FIRST psn=5 len=256
			+67ms
			a SEND_FIRST psn=5 len=256
				! again_after_timeout PSN 5 is retransmitted 68ms after frame 1 ...
			a SEND_LAST psn=6 len=1 ack
			b ACKNOWLEDGE psn=6
				= acknowledges SEND #1, 70ms latency
			flow 1 timeouts=1 again=1`},
		{"the requester goes back once for one NAK, so a second time it was the timer", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_nak ...
			a SEND_ONLY psn=6 len=9 ack
				! again_after_nak ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_timeout ...
			flow 1 timeouts=1 again=3`},
		{"what is lost of a repetition is lost again", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			a SEND_ONLY psn=7 len=9 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=6 len=9 ack
				! again_after_nak PSN 6 is retransmitted because of the sequence NAK in frame 4
				! gap PSN 5 is missing before this packet: the retransmission was lost, too, or missed by the capture
			flow 1 lost=1`},
		{"what was acknowledged meanwhile is not repeated, and not lost", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			a SEND_ONLY psn=7 len=9 ack
			a SEND_ONLY psn=5 len=9 ack
				! again_after_timeout ...
			b ACKNOWLEDGE psn=6
				= acknowledges SEND #1 to SEND #2
				! ack_coalesced one acknowledgement for 2 messages, up to PSN 6
			a SEND_ONLY psn=7 len=9 ack
				! again_after_timeout PSN 7 is retransmitted, too...
			flow 1 lost=0`},
		{"a NAK that is not obeyed for long was lost itself", `
			a SEND_ONLY psn=4 len=9 ack
			b ACKNOWLEDGE psn=4
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=seq
				! nak_sequence ...
			+67ms
			a SEND_ONLY psn=5 len=9 ack
				! again_after_timeout PSN 5 is retransmitted 70ms after frame 3: the requester's timer expired; the sequence NAK in frame 5 requested it 68ms earlier and was probably lost
			flow 1 timeouts=1`},
		{"a NAK for what was sent again before it came asks for nothing", `
			a SEND_ONLY psn=5 len=9
			a SEND_ONLY psn=7 len=9
				! gap PSN 6 is missing...
			a SEND_ONLY psn=6 len=9
				! again_after_timeout PSN 6 is sent without a NAK after later packets: the requester's timer expired
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence PSN 6 is missing at the responder: it was lost before frame 2 and retransmitted in frame 3 before this NAK...
			+20ms
			a SEND_ONLY psn=6 len=9
				! again_after_timeout ...`},
		{"unless the requester obeys it at once", `
			a SEND_ONLY psn=5 len=9
			a SEND_ONLY psn=7 len=9
				! gap PSN 6 is missing...
			a SEND_ONLY psn=6 len=9
				! again_after_timeout ...
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			a SEND_ONLY psn=6 len=9
				! again_after_nak PSN 6 is retransmitted because of the sequence NAK in frame 4`},
		{"several that are missing are one finding", `
			a SEND_ONLY psn=16777214 len=9
			a SEND_ONLY psn=2 len=9
				! gap PSNs 16777215 to 1 are missing before this packet: lost before the capture point, or missed by the capture
			flow 1 lost=3`},
		{"a packet that others overtook was not sent again: its identification is older", `
			a SEND_ONLY psn=5 len=9 id=500
			a SEND_ONLY psn=7 len=9 id=502
				! gap PSN 6 is missing...
			a SEND_ONLY psn=6 len=9 id=501
				role request flow=1 again=false
				! reordered PSN 6 arrives after frame 2, which was sent later: the network reordered them
			a SEND_ONLY psn=8 len=9 id=503
			flow 1 lost=0 again=0 timeouts=0`},
		{"a copy that the network made has the same identification", `
			a SEND_ONLY psn=5 len=9 id=500
			a SEND_ONLY psn=5 len=9 id=500
				role request flow=1 again=true
				= SEND #1 of 9 bytes, network duplicate
				! duplicate PSN 5 was captured before, in frame 1: the network duplicated that packet
			a SEND_ONLY psn=6 len=9 id=501
			flow 1 again=0 timeouts=0`},
		{"one PSN for two different packets", `
			a SEND_ONLY psn=5 len=9
			a SEND_ONLY psn=5 len=10
				! again_after_timeout ...
				! misnumbered PSN 5 is used twice: RC_SEND_ONLY with 9 bytes in frame 1, RC_SEND_ONLY with 10 bytes here`},
	})
}

func TestReceiversThatAreNotReady(t *testing.T) {
	runScenarios(t, []scenario{
		{"an RNR NAK tells how long to wait, and its repetition has that cause", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=rnr12
				= not ready for PSN 5, SEND #1: no receive is posted; retry after 640µs
				! rnr_nak no receive is posted for the SEND of frame 1: the requester must wait 640µs before it retries
			+4ms
			a SEND_ONLY psn=5 len=9 ack
				! again_after_rnr PSN 5 is retransmitted 5ms after the RNR NAK in frame 3, which requires a wait of at least 640µs
			a SEND_ONLY psn=6 len=9 ack
				! again_after_rnr PSN 6 is retransmitted, too...
			b ACKNOWLEDGE psn=6
				! ack_coalesced ...
			flow 1 rnrs=1 naks=0 again=2 payload=18`},
		{"a NAK for what the receiver was not ready for is no loss", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5 syn=rnr0
				! rnr_nak no receive is posted for the SEND of frame 1: the requester must wait 655ms before it retries
			b ACKNOWLEDGE psn=5 syn=seq
				= requests the retransmission of PSN 5, for which it was not ready
				! nak_sequence PSN 5 is not lost: the responder was not ready for it in frame 3...
			+655ms
			a SEND_ONLY psn=5 len=9 ack
				! again_after_rnr PSN 5 is retransmitted 657ms after the RNR NAK in frame 3, which requires a wait of at least 655ms`},
		{"a receiver that never gets ready", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 syn=rnr1
				! rnr_nak ...
			a SEND_ONLY psn=5 len=9 ack
				! again_after_rnr ...
			b ACKNOWLEDGE psn=5 syn=rnr1
				! rnr_nak ...(2nd RNR NAK in a row)
			+100ms
			a SEND_ONLY psn=5 len=9 ack to=0x99
			flow 1 rnrs=2 err=the_receiver_was_not_ready_2_consecutive_times;_no_retry_in_the_capture
			message SEND #1 failed: the receiver was not ready 2 consecutive times; no retry in the capture`},
		{"a capture that ends within the wait of an RNR NAK shows no failure", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 syn=rnr1
				! rnr_nak ...
			flow 1 rnrs=1 err=
			message SEND #1 failed: the receiver was not ready once; the capture ends before a retry is certainly due`},
		{"a response with a syndrome of a reserved type answers nothing, and shows its fields", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 syn=0x45 msn=7
				= acknowledgement of PSN 5 with reserved syndrome 0x45, MSN 7
				! malformed AETH syndrome 0x45 is of a reserved type: the packet answers nothing
			finish
			message SEND #1 open`},
		{"a responder without credit", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 syn=credit0
				! no_credit no credit: the responder has no receive left...
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=6 syn=credit7
				= acknowledges SEND #2, 1ms latency, credits for 12 more`},
	})
}

func TestRefusals(t *testing.T) {
	runScenarios(t, []scenario{
		{"a remote access error names address, length and key", `
			a WRITE_ONLY psn=5 len=9 dma=9 va=0xabc0 rkey=0x1234 ack
			a WRITE_ONLY psn=6 len=9 dma=9 ack
			b ACKNOWLEDGE psn=5 syn=acc
				! nak_error refuses the WRITE of frame 1 with NAK remote access error (9 bytes at address 0xabc0, R_Key 0x1234): invalid key...
			flow 1 naks=1 err=NAK_remote_access_error_in_frame_3
			message WRITE #1 failed: NAK remote access error
			message WRITE #2 failed: the connection failed before it was answered`},
		{"what a key reached before tells why it does not reach something else", `
			a READ_REQUEST psn=5 dma=200 va=0x1000 rkey=0x5
			b READ_RESPONSE_ONLY psn=5 len=200
			a READ_REQUEST psn=6 dma=8 va=0x10c1 rkey=0x5
			b ACKNOWLEDGE psn=6 syn=acc
				! nak_error ...; key 0x5 was used for 0x1000 to 0x10c8 only, last in frame 2, so this may be out of bounds;...
			a FETCH_ADD psn=1000000 va=0x1008 rkey=0x5
			b ACKNOWLEDGE psn=1000000 syn=acc
				! nak_error ...; key 0x5 was valid for another operation in frame 2; this one may not be permitted;...
			a READ_REQUEST psn=2000000 dma=8 va=0x1008 rkey=0x5
			b ACKNOWLEDGE psn=2000000 syn=acc
				! nak_error ...; key 0x5 worked in frame 2, so it may have been invalidated since,...`},
		{"an invalid request", `
			a FETCH_ADD psn=5 va=0x1001 add=1 ack
			b ACKNOWLEDGE psn=5 syn=inv
				! nak_error refuses the FAA of frame 1 with NAK invalid request (8 bytes at address 0x1001, R_Key 0x77): the request breaks a rule...`},
		{"what came before the refused one is acknowledged by it", `
			a SEND_ONLY psn=5 len=9
			a READ_REQUEST psn=6 dma=100 ack
			b ACKNOWLEDGE psn=6 syn=acc
				! nak_error refuses the READ...
			message SEND #1 done
			message READ #2 failed: NAK remote access error`},
	})
}

func TestRespondersThatBreakTheRules(t *testing.T) {
	runScenarios(t, []scenario{
		{"it acknowledges what it cannot have", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 msn=1
			a SEND_ONLY psn=7 len=9 ack
				! gap PSN 6 ...
			b ACKNOWLEDGE psn=7
				! responder_breaks_go_back_n PSN 7 is acknowledged, but PSN 6 was not captured before: the capture missed it, or the responder violates go-back-N
			message SEND #2 done`},
		{"unless it may have come before the capture began, as the MSN tells", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 msn=9
			a SEND_ONLY psn=7 len=9 ack
				! gap PSN 6 ...
			b ACKNOWLEDGE psn=7`},
		{"it asks for what it acknowledged", `
			a SEND_ONLY psn=5 len=9 ack
			a SEND_ONLY psn=6 len=9 ack
			b ACKNOWLEDGE psn=5
			b ACKNOWLEDGE psn=5 syn=seq
				= requests PSN 5, which was acknowledged before
				! responder_breaks_go_back_n NAK for PSN 5, which was acknowledged in frame 3: the packets were reordered, or the responder is faulty
			flow 1 naks=1 lost=0`},
		{"but what a NAK asks for may be on its way", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5 msn=1
			a SEND_ONLY psn=6 len=9
			a SEND_ONLY psn=7 len=9 ack
			b ACKNOWLEDGE psn=6 syn=seq
				! nak_sequence ...
			b ACKNOWLEDGE psn=7
				! ack_coalesced ...`},
		{"it answers what was not asked", `
			a SEND_ONLY psn=5 len=9 ack
			b ACKNOWLEDGE psn=5
			b ACKNOWLEDGE psn=9
				! responder_breaks_go_back_n response to PSN 9, but the newest captured request is PSN 5...
			a SEND_ONLY psn=10 len=9 ack
			b ACKNOWLEDGE psn=10
				= acknowledges SEND #2, 1ms latency
			flow 1 lost=0`},
	})
}
