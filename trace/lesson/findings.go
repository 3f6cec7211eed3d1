package lesson

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// exceptional are the lessons about exceptional events.
var exceptional = []entry{
	{Lesson{"gap", "A missing packet",
		"PSNs are consecutive, so a jump means that a packet is missing: lost before the capture point, or missed by the capture. " +
			"A receiver executes only the PSN that it expects. It may keep packets after the gap until then, as gorxe does; most RNICs and Linux rxe drop them.",
		"IBA 9.7"}, finding(trace.Gap)},
	{Lesson{"nak_sequence", "NAK: PSN sequence error",
		"The responder got a PSN ahead of the one it expects. This NAK names the PSN that it wants and acknowledges all before it. " +
			"It is sent once per gap: if the NAK or the retransmission is lost, only the requester's timer recovers.",
		"IBA 9.7.5.2"}, finding(trace.SequenceNAK)},
	{Lesson{"again_after_nak", "Go-back-N",
		"After a sequence NAK the requester begins again at the PSN that is missing and repeats everything from there on, also what had arrived. " +
			"TCP with selective acknowledgements would send one segment. Here the receiver needs no memory for what is out of order, and a loss costs a whole window. " +
			"If the responder has shown that it keeps packets after a gap, a requester may retransmit only the missing packet, as gorxe does.",
		"IBA 9.7.5.2"}, finding(trace.AfterNAK)},
	{Lesson{"kept_early", "Selective repair",
		"The acknowledgement covers packets that came after the gap and were not sent again: this responder had kept them, and the loss cost one packet. " +
			"Responders do not advertise this; a requester finds out by retransmitting only the packet that the NAK names, and falls back to go-back-N if that fails.",
		"IBA 9.7.5.1 lets a responder acknowledge whatever it has executed"}, finding(trace.KeptEarly)},
	{Lesson{"again_after_timeout", "The transport timer",
		"If nothing is acknowledged for 4.096 µs × 2^timeout the requester sends again from the oldest packet that is not acknowledged. " +
			"The exponent is an attribute of the queue pair (14 stands for 67 ms), and retry_cnt says how often it tries before the work request fails with RETRY_EXC_ERR. " +
			"Linux rxe does not set its timer anew with every acknowledgement, so it also fires where nothing was lost.",
		"IBA 9.7.6.1.3"}, finding(trace.AfterTimeout)},
	{Lesson{"rnr_nak", "RNR NAK: receiver not ready",
		"A SEND needs a receive that the program at the other end has posted, and there is none. " +
			"The NAK carries a time, one of 32 from 10 µs to 655 ms, that the sender shall wait before it tries again. TCP would close its window instead.",
		"IBA 9.7.5.2.8"}, finding(trace.RNRNAK)},
	{Lesson{"again_after_rnr", "Retry after an RNR NAK",
		"The wait is over and the same PSN is sent again. rnr_retry of the queue pair says how often; 7 stands for ever. " +
			"When the tries are used up the work request fails with RNR_RETRY_EXC_ERR, so programs post receives before they tell their peer to send.",
		"IBA 9.7.5.2.8"}, finding(trace.AfterRNR)},
	{Lesson{"implied_nak", "Implied NAK",
		"READs and atomics are answered in their order. An answer to something later, while an earlier READ or atomic has none, shows that its response was lost. " +
			"There is no NAK for this: the requester infers the loss and retries.",
		"IBA 9.7.5.1.2"}, finding(trace.ImpliedNAK)},
	{Lesson{"read_again", "The rest of a READ",
		"Responses are not acknowledged, so the requester must detect a missing one. " +
			"It sends a READ request for what is left, with the PSN of the first missing response and the address and length moved on accordingly. " +
			"The responder reads its memory once more.",
		"IBA 9.7.5.1"}, finding(trace.ReadAgain)},
	{Lesson{"atomic_replayed", "An atomic is executed once",
		"A repeated WRITE does no harm, but an addition that is made twice is wrong. " +
			"The responder therefore remembers the results of its latest atomics and answers a duplicate from that memory. How many it remembers is agreed before: that is max_dest_rd_atomic.",
		"IBA 9.7.5.1"}, finding(trace.AtomicReplay)},
	{Lesson{"duplicate", "Duplicates",
		"A packet with a PSN that the receiver has passed is a duplicate. A SEND or WRITE is not executed again, only acknowledged; a READ is answered again. " +
			"They are normal: a requester retransmits when in doubt.",
		"IBA 9.7.5.1"}, finding(trace.Duplicate)},
	{Lesson{"reordered", "Reordering",
		"RoCE expects that a network keeps the packets of a connection in order, which switches do by sending them all the same way. " +
			"To a receiver that goes back by N a packet that comes late is one that was lost, and it costs the same.",
		"IBA 9.7"}, finding(trace.Reordered)},
	{Lesson{"nak_error", "A NAK that ends the connection",
		"The responder cannot or will not do what was asked: the key, the range, the rights or the request itself are wrong. " +
			"The queue pairs at both ends go into the error state, all that was posted is flushed, and the program has to connect again.",
		"IBA 9.7.5.2"}, finding(trace.ErrorNAK)},
	{Lesson{"remote_access", "Remote access error",
		"A network card checks each access from outside: does the key exist, does it belong to the protection domain of this queue pair, do address and length lie within its memory, and does it permit this operation? " +
			"Which of these failed the NAK does not say.",
		"IBA 9.7.5.2"}, ack(func(s bth.Syndrome) bool { return s == bth.NakRemoteAccess })},
	{Lesson{"ack_coalesced", "One acknowledgement for several messages",
		"An acknowledgement covers all before its PSN, so a responder may wait a little and answer several messages at once. " +
			"It saves packets; each of the requests still gets its own completion.",
		"IBA 9.7.5.1"}, finding(trace.AckCoalesced)},
	{Lesson{"no_credit", "End-to-end credits",
		"The syndrome of an acknowledgement can say how many more SENDs there are receives for, as TCP's window does for bytes. " +
			"At zero the requester may send one request to see whether it is taken. Most RNICs and Linux rxe send 31, which stands for: no limit told.",
		"IBA 9.7.5"}, finding(trace.NoCredit)},
	{Lesson{"ecn_ce", "Explicit congestion notification",
		"A switch whose queue grows sets two bits in the IP header of packets that pass, instead of dropping them. " +
			"It is what TCP has, too; but RoCE tells the sender by a packet of its own, the CNP.",
		"RFC 3168, IBA annex A17"}, finding(trace.ECNMarked)},
	{Lesson{"cnp", "Congestion notification packet",
		"A receiver of marked packets sends a CNP to the sending queue pair, which then reduces its rate. " +
			"The rate control is implementation-specific (mostly DCQCN); a lost CNP is not retransmitted.",
		"IBA A17.9.3"}, finding(trace.Congestion)},
	{Lesson{"icrc_wrong", "A wrong ICRC",
		"The packet is not what its sender computed the ICRC over. Its receiver drops it without an answer, as if it had been lost. " +
			"One such packet is damage on the way; if all of a host are wrong, something changes headers (address translation does), or the sender computes it wrongly.",
		"IBA annex A17"}, finding(trace.WrongICRC)},
	{Lesson{"icrc_of_rxe", "The ICRC of a FLUSH of Linux rxe",
		"rxe runs the ICRC of a FLUSH over the packet twice. Between two rxe nobody notices; another receiver drops it.",
		"observed of Linux 6.12"}, finding(trace.RxeICRC)},
	{Lesson{"malformed", "A packet that cannot be decoded",
		"What is sent to UDP port 4791 and does not follow the layout of a RoCEv2 packet is dropped by RNICs without an answer. " +
			"Other programs may use the port as well.",
		"IBA 9.2"}, finding(trace.Malformed)},
	{Lesson{"pad_or_length", "Inconsistent lengths",
		"The length of a packet, its pad count, the path MTU and the length that the first packet announced have to agree. " +
			"A responder refuses what does not fit as an invalid request. The usual cause is a path MTU that the two ends did not agree on.",
		"IBA 9.7.4.1"}, finding(trace.InconsistentLength)},
	{Lesson{"misnumbered", "One PSN for two packets",
		"A repetition has to be the same packet: its receiver may have taken the first one. If it is another, the sender lost count, or two senders share a queue pair number.",
		"IBA 9.7"}, finding(trace.PSNReused)},
	{Lesson{"responder_breaks_go_back_n", "Impossible response",
		"A responder that follows the rules cannot have what it acknowledges here. More often the capture is to blame: it missed packets that did arrive.",
		"IBA 9.7"}, finding(trace.NotGoBackN)},
	{Lesson{"no_migreq", "MigReq",
		"The bit belongs to automatic path migration, with which a connection moves to another port. A queue pair that uses none of it begins in the state migrated, and most RNICs set the bit in all packets. Linux rxe never does, and ignores it.",
		"IBA 9.2"}, finding(trace.NeverMigReq)},
	{Lesson{"cm_retry", "Messages of the connection manager are repeated",
		"The connection manager uses datagrams, which may be lost. Each side says in the REQ how long it takes to answer, and a message without an answer is sent again after that time, up to 15 times.",
		"IBA table 106"}, finding(trace.CMRetry)},
	{Lesson{"cm_rejected", "REJ: a connection is refused",
		"The answer to a REQ that is not accepted, with a number for the reason: TCP has RST for all of them. " +
			"Common reasons: 8 no listener, 28 rejected by the program, 10 stale connection.",
		"IBA tables 108 and 109"}, finding(trace.CMRejected)},
	{Lesson{"unanswered", "A request without an answer",
		"Until a request is acknowledged, the requester cannot know whether it was executed. If the connection ends first, it completes with WR_FLUSH_ERR and the program must find out itself.",
		"IBA 9.7.5.1"}, finding(trace.Unanswered)},
}
