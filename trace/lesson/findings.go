package lesson

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// exceptionLessons are the lessons about exceptional events.
var exceptionLessons = []entry{
	{Lesson{"gap", "A missing packet",
		"PSNs are consecutive, so a jump means that a packet is missing: lost before the capture point, or " +
			"missed by the capture. " +
			"A receiver executes only the PSN that it expects. It may keep the packets after the gap until " +
			"the missing one arrives, as gorxe does; most RNICs and Linux rxe drop them.",
		"IBA 9.7"}, finding(trace.Gap)},
	{Lesson{"nak_sequence", "NAK: PSN sequence error",
		"The responder received a higher PSN than it expects. This NAK names the expected PSN and " +
			"acknowledges all before it. " +
			"It is sent once per gap: if the NAK or the retransmission is lost, the requester retransmits " +
			"only when its timer expires.",
		"IBA 9.7.5.2"}, finding(trace.SequenceNAK)},
	{Lesson{"again_after_nak", "Retransmission after a NAK: go-back-N",
		"The rule of the IBA: the requester retransmits all packets from the missing PSN on, even those that " +
			"had arrived. " +
			"So the receiver needs no memory for packets out of order, but a loss costs a whole window; TCP " +
			"with selective acknowledgements would retransmit one segment. " +
			"gorxe retransmits only the missing packet at first. It goes back if the answer acknowledges no " +
			"later packet, and at once if the responder is Linux rxe.",
		"IBA 9.7.5.2"}, finding(trace.AfterNAK)},
	{Lesson{"kept_early", "Selective repair",
		"The acknowledgement covers packets that arrived after the gap and were not retransmitted: this " +
			"responder had kept them, so the loss cost one packet. " +
			"Responders do not advertise this; a requester finds out by retransmitting only the packet that " +
			"the NAK names, and falls back to go-back-N if that fails.",
		"IBA 9.7.5.1 lets a responder acknowledge whatever it has executed"}, finding(trace.KeptEarly)},
	{Lesson{"again_after_timeout", "The transport timer",
		"If nothing is acknowledged for 4.096 µs × 2^timeout, the requester retransmits from the oldest " +
			"unacknowledged packet on. " +
			"The exponent is an attribute of the queue pair (14 means 67 ms). After retry_cnt retries the " +
			"work request fails with RETRY_EXC_ERR. " +
			"Linux rxe does not restart its timer at every acknowledgement, so its timer may expire although " +
			"nothing was lost.",
		"IBA 9.7.6.1.3"}, finding(trace.AfterTimeout)},
	{Lesson{"again_undecided", "A retransmission of unknown cause",
		"The requester retransmits after a NAK, an RNR NAK, an implied NAK or a timeout. Which of them it was " +
			"can be unknown: the responses may be missing in the capture or belong to another queue pair, or a " +
			"READ is requested again although its responses passed the capture point.",
		"IBA 9.7.6.1.3, 9.7.5.2"}, finding(trace.AfterUnknown)},
	{Lesson{"rnr_nak", "RNR NAK: receiver not ready",
		"A SEND needs a receive that the other program has posted, and none is left. " +
			"The sender must wait for the time in the NAK (one of 32 values from 10 µs to 655 ms) before it " +
			"retransmits. TCP would close its window instead.",
		"IBA 9.7.5.2.8"}, finding(trace.RNRNAK)},
	{Lesson{"again_after_rnr", "Retry after an RNR NAK",
		"After the waiting time the requester retransmits the same PSN. The queue pair's rnr_retry is the " +
			"number of such retries; 7 means without limit. " +
			"After the last one the work request fails with RNR_RETRY_EXC_ERR, so programs post receives " +
			"before their peer may send.",
		"IBA 9.7.5.2.8"}, finding(trace.AfterRNR)},
	{Lesson{"implied_nak", "Implied NAK",
		"READs and atomics are answered in their order. An answer to a later request, while an earlier READ " +
			"or atomic has none, shows that the earlier response was lost. " +
			"There is no NAK for this: the requester infers the loss and retries.",
		"IBA 9.7.5.1.2"}, finding(trace.ImpliedNAK)},
	{Lesson{"read_again", "The rest of a READ",
		"Responses are not acknowledged, so the requester must detect a missing one. " +
			"It sends a READ request for the remaining data, with the PSN and address of the first missing " +
			"response. " +
			"The responder reads its memory again.",
		"IBA 9.7.5.1"}, finding(trace.ReadAgain)},
	{Lesson{"atomic_replayed", "An atomic is executed once",
		"Executing a WRITE twice does no harm; executing an addition twice gives a wrong result. " +
			"The responder therefore stores the results of its latest atomics and answers a duplicate with " +
			"the stored result. max_dest_rd_atomic is the number of results that it stores.",
		"IBA 9.7.5.1"}, finding(trace.AtomicReplay)},
	{Lesson{"duplicate", "Duplicates",
		"A packet whose PSN the receiver has already executed is a duplicate. A SEND or WRITE is not " +
			"executed again, only acknowledged; a READ is answered again. " +
			"Duplicates are normal: a requester retransmits when in doubt.",
		"IBA 9.7.5.1"}, finding(trace.Duplicate)},
	{Lesson{"reordered", "Reordering",
		"RoCE expects that a network keeps the packets of a connection in order, which switches do by " +
			"sending them all the same way. " +
			"For a receiver that drops packets after a gap, a late packet is a lost packet and costs as much.",
		"IBA 9.7"}, finding(trace.Reordered)},
	{Lesson{"nak_error", "A NAK that ends the connection",
		"The responder cannot execute the request: the key, the address range, the access rights or the " +
			"request itself is wrong. " +
			"The request completes with an error such as REM_ACCESS_ERR; later requests and the posted receives " +
			"complete with WR_FLUSH_ERR. " +
			"The queue pairs of both ends enter the error state, and the program must connect again.",
		"IBA 9.7.5.2"}, finding(trace.ErrorNAK)},
	{Lesson{"remote_access", "Remote access error",
		"A network card checks each remote access: does the key exist, does it belong to the same group " +
			"(protection domain) as this queue pair, do address and length lie within its memory, and does it " +
			"permit this operation? " +
			"The NAK does not tell which check failed.",
		"IBA 9.7.5.2"}, ack(func(s bth.Syndrome) bool { return s == bth.NakRemoteAccess })},
	{Lesson{"ack_coalesced", "One acknowledgement for several messages",
		"An acknowledgement covers all packets up to its PSN, so a responder may wait a little and " +
			"acknowledge several messages at once. " +
			"This saves packets; each of the requests still gets its own completion.",
		"IBA 9.7.5.1"}, finding(trace.AckCoalesced)},
	{Lesson{"no_credit", "End-to-end credits",
		"The syndrome of an acknowledgement can contain credits: the number of SENDs for which receives are " +
			"posted, as TCP's window does for bytes. " +
			"At zero the requester may send one request as a probe. Most RNICs and Linux rxe send 31, which " +
			"means no limit.",
		"IBA 9.7.5"}, finding(trace.NoCredit)},
	{Lesson{"ecn_ce", "Explicit congestion notification",
		"A switch whose queue grows sets two bits in the IP header of the packets that it forwards, instead " +
			"of dropping packets. " +
			"TCP uses the same bits, but in RoCE the receiver informs the sender with a separate packet, the CNP.",
		"RFC 3168, IBA annex A17"}, finding(trace.ECNMarked)},
	{Lesson{"cnp", "Congestion notification packet",
		"A receiver of marked packets sends a CNP to the sending queue pair, which then reduces its rate. " +
			"The rate control is implementation-specific (mostly DCQCN); a lost CNP is not retransmitted.",
		"IBA A17.9.3"}, finding(trace.Congestion)},
	{Lesson{"icrc_wrong", "A wrong ICRC",
		"The packet differs from the one over which its sender computed the ICRC. The receiver drops it " +
			"without an answer, so it counts as lost. " +
			"A single wrong ICRC means damage on the way. If all ICRCs of a host are wrong, something " +
			"changes headers (address translation, for example), or the sender computes the ICRC wrongly.",
		"IBA annex A17"}, finding(trace.WrongICRC)},
	{Lesson{"icrc_of_rxe", "The ICRC of a FLUSH of Linux rxe",
		"rxe computes the ICRC of a FLUSH over the packet twice. Two rxe devices agree on it; any other " +
			"receiver drops the packet.",
		"observed of Linux 6.12"}, finding(trace.RxeICRC)},
	{Lesson{"malformed", "A packet that cannot be decoded",
		"RNICs drop datagrams to UDP port 4791 that do not have the layout of a RoCEv2 packet, without an answer. " +
			"Other programs may use the port as well.",
		"IBA 9.2"}, finding(trace.Malformed)},
	{Lesson{"pad_or_length", "Inconsistent lengths",
		"The length of a packet, its pad count, the path MTU and the length that the first packet announced " +
			"have to agree. " +
			"If they do not, the responder answers with a NAK for an invalid request. The usual cause is " +
			"that the two ends have different path MTUs.",
		"IBA 9.7.4.1.6"}, finding(trace.InconsistentLength)},
	{Lesson{"misnumbered", "One PSN for two packets",
		"A retransmission must equal the original, because the receiver may have executed the original. A " +
			"different packet means that the sender miscounted, or that two senders use one queue pair number.",
		"IBA 9.7"}, finding(trace.PSNReused)},
	{Lesson{"responder_breaks_go_back_n", "Impossible response",
		"According to this capture, the responder cannot have received what it acknowledges here. Usually " +
			"the capture missed packets that did arrive.",
		"IBA 9.7"}, finding(trace.NotGoBackN)},
	{Lesson{"no_migreq", "A host without MigReq",
		"The sender of this packet has not set the MigReq bit in its first packets (perhaps other hosts in " +
			"the capture do not set it either). " +
			"The bit belongs to automatic path migration, with which a connection moves to another path, such as " +
			"the other port of the network card. " +
			"A queue pair without another path is always in the state named migrated, and the bit is 1 in that " +
			"state; so most RNICs set it in all packets. Linux rxe never sets it, and ignores it.",
		"IBA 9.2"}, finding(trace.NeverMigReq)},
	{Lesson{"cm_retry", "Messages of the connection manager are repeated",
		"The connection manager uses datagrams, which may be lost. The REQ contains the time in which each " +
			"side will answer; a message without an answer is repeated after that time, up to 15 times.",
		"IBA table 106"}, finding(trace.CMRetry)},
	{Lesson{"cm_rejected", "REJ: a connection is refused",
		"The REQ was not accepted. The REJ contains the reason as a number, where TCP has only RST. " +
			"Common reasons: 8 no listener, 28 rejected by the program, 10 stale connection.",
		"IBA tables 108 and 109"}, finding(trace.CMRejected)},
	{Lesson{"unanswered", "A request without an answer",
		"Until a request is acknowledged, the requester cannot know whether it was executed. If the " +
			"connection ends first, the request completes with WR_FLUSH_ERR, and the program must find out by " +
			"other means.",
		"IBA 9.7.5.1"}, finding(trace.Unanswered)},
}
