package lesson

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

// entries are all lessons. For a packet that several lessons explain, this is their order of
// priority: exceptional events, the basics, CM messages, requests and responses, encoding.
var entries = slices.Concat(exceptionLessons, basicLessons, cmLessons, requestLessons, encodingLessons)

// whenPostponed has a second, wider condition for two lessons whose own condition holds only for
// the first packet of a message. If the first packet already had the maximum number of lessons, the
// lesson is returned for a later packet that meets the second condition; otherwise it would never
// appear in a capture with a single message. The key is that of the lesson.
var whenPostponed = map[string]condition{
	"packets": decoded(part),
	"reth":    op(bth.OpWrite, bth.OpReadRequest, bth.OpReadResponse, bth.OpFlush, bth.OpAtomicWrite),
}

var cmLessons = []entry{
	{Lesson{"req", "REQ: connection request",
		"Before two queue pairs can communicate, each side needs the other's queue pair number and first " +
			"PSN. The connection managers exchange them in datagrams between queue pair 1 of both hosts. " +
			"The REQ is like TCP's SYN: it contains a port (in the service ID), the sender's queue pair " +
			"number, the first PSN that the sender expects, the path MTU and timeouts. The port is one of rdma_cm: " +
			"the port spaces TCP and UDP are named after those protocols, but are separate from their ports.",
		"IBA table 106; ports in annex A11"}, message(mad.AttrREQ)},
	{Lesson{"rep", "REP: the answer",
		"The other side has created a queue pair for the connection. The REP contains its number and the " +
			"first PSN that it expects, like TCP's SYN-ACK.",
		"IBA table 110"}, message(mad.AttrREP)},
	{Lesson{"rtu", "RTU: ready to use",
		"The third message: both sides may send. Data may arrive before it: the passive side may then treat " +
			"the connection as established, or repeat its REP to request the RTU, as gorxe does.",
		"IBA table 111, 12.9.7.2"}, message(mad.AttrRTU)},
	{Lesson{"mra", "MRA: wait",
		"MRA is message receipt acknowledgement: the message arrived, but the answer will take longer than " +
			"agreed, for example because a program has to decide. The other side waits for the time in the MRA " +
			"instead of repeating its message.",
		"IBA table 107"}, message(mad.AttrMRA)},
	{Lesson{"dreq", "DREQ and DREP: the end",
		"The DREQ asks to end the connection, the DREP confirms it. Both sides then leave the queue pair " +
			"number unused for some time (timewait), so that late packets cannot reach a new connection.",
		"IBA tables 112 and 113"}, message(mad.AttrDREQ, mad.AttrDREP)},
	{Lesson{"sidr", "SIDR: where is the service?",
		"To send datagrams, a program needs no connection, only the number and the Q_Key of the destination " +
			"queue pair. It asks for both with this message, which names a port.",
		"IBA tables 119 and 120"}, message(mad.AttrSIDRREQ, mad.AttrSIDRREP)},
	{Lesson{"rej", "REJ",
		"The message was not accepted. The REJ contains the reason as a number.",
		"IBA tables 108 and 109"}, message(mad.AttrREJ)},
	{Lesson{"lap", "LAP and APR: another path",
		"A connection can have an alternate path, to which it may migrate. The LAP proposes one, the APR answers.",
		"IBA 12"}, message(mad.AttrLAP, mad.AttrAPR)},
}

var basicLessons = []entry{
	{Lesson{"roce", "RoCEv2",
		"RDMA (remote direct memory access) copies data from the memory of one program to that of another; " +
			"the network card does what the kernel does for TCP. RoCEv2 sends each packet in a UDP datagram to " +
			"port 4791. The UDP source port only spreads connections over paths (ECMP). IBA is the InfiniBand " +
			"Architecture Specification.",
		"IBA annex A17"}, anyPacket},
	{Lesson{"queue_pair", "Queue pairs",
		"Programs communicate through queue pairs: each has a send queue of work requests and a receive " +
			"queue of buffers. A packet of a connection contains only the number of the destination queue pair; " +
			"gorxe finds the sender's from the packets of the other direction. A packet of the unreliable " +
			"datagram service (UD), which has no connections, contains both numbers.",
		"IBA 9.2"}, anyPacket},
}

var requestLessons = []entry{
	{Lesson{"write", "RDMA WRITE",
		"The sender names an address in the memory of the other program. The remote NIC checks the key and " +
			"stores the data there; " +
			"the other program does not run and is not notified, unless the WRITE has immediate data.",
		"IBA 9.4"}, op(bth.OpWrite)},
	{Lesson{"send", "SEND",
		"The sender does not choose where the data goes. The other program has posted receive buffers; each " +
			"SEND uses the next one and generates a completion. " +
			"Unlike TCP, which carries a stream of bytes, a SEND carries one message.",
		"IBA 9.4"}, op(bth.OpSend)},
	{Lesson{"read", "RDMA READ",
		"The requester reads memory of the other program. The request carries no data, but uses one PSN for " +
			"each packet of the response, so that the requester can detect a missing one.",
		"IBA 9.4.4"}, op(bth.OpReadRequest)},
	{Lesson{"read_response", "READ response",
		"The response carries the data and acknowledges the request. Its packets have the PSNs that the " +
			"request reserved, in order; the last one completes the READ.",
		"IBA 9.4.4"}, op(bth.OpReadResponse)},
	{Lesson{"atomic", "Atomic operations",
		"The responder compares and swaps eight bytes of its program's memory, or adds to them, in one " +
			"step, and returns the previous value. Programs use atomics for locks and counters. The address must " +
			"be a multiple of eight.",
		"IBA 9.4.5"}, op(bth.OpCmpSwap, bth.OpFetchAdd)},
	{Lesson{"atomic_ack", "The answer to an atomic",
		"The answer contains the previous value of the memory. If it equals the compare value of a compare " +
			"and swap, the swap was made; if not, nothing was stored.",
		"IBA 9.4.5"}, op(bth.OpAtomicAck)},
	{Lesson{"flush", "FLUSH",
		"The data of an acknowledged WRITE has arrived, but may not yet be visible to every reader or stored " +
			"in persistent memory. The responder answers a FLUSH when it is.",
		"IBA annex A19"}, op(bth.OpFlush)},
	{Lesson{"atomic_write", "ATOMIC WRITE",
		"The eight bytes become visible all at once, after all data written before. Programs use them as a " +
			"flag that the data is complete.",
		"IBA annex A19"}, op(bth.OpAtomicWrite)},
	{Lesson{"ack", "Acknowledgement",
		"The responder has received every packet up to and including this PSN; a TCP ACK names the next byte " +
			"instead. A SEND or WRITE is complete when its last packet is acknowledged: the requester's program " +
			"gets a completion and may reuse its buffer.",
		"IBA 9.7.5.1"}, ack(bth.Syndrome.IsAck)},
	{Lesson{"nak", "NAK",
		"A negative acknowledgement. Its syndrome tells the reason: a PSN is missing, the receiver is not " +
			"ready (RNR), or the request is in error. It acknowledges all packets before its PSN.",
		"IBA 9.7.5"}, ack(func(s bth.Syndrome) bool { return !s.IsAck() })},
	{Lesson{"completion", "From work request to completion",
		"A program posts a work request; the NIC sends it as a message and, after the acknowledgement, gives " +
			"the program a work completion. The latency shown here is the time from the message's first packet " +
			"to its acknowledgement. Numbers such as #2 count the messages of a flow, those of both directions " +
			"together.",
		"IBA 9.7.5.1"}, completed},
	{Lesson{"uc", "Unreliable connection",
		"A connection without acknowledgements and retransmissions. If a packet is missing, the receiver " +
			"drops the whole message and continues with the next.",
		"IBA 9.2"}, service(bth.ServiceUC)},
	{Lesson{"ud", "Unreliable datagram",
		"Each message is one packet and may go to any queue pair. The packet contains the sender's queue " +
			"pair number and a Q_Key, which must equal that of the receiving one. Programs must split longer messages.",
		"IBA 9.3"}, service(bth.ServiceUD)},
	{Lesson{"multicast", "Multicast",
		"A datagram to queue pair 0xffffff is delivered to every queue pair that is attached to the " +
			"multicast group of the destination IP address.",
		"IBA annex A17"}, decoded(func(p *trace.Packet) bool { return p.BTH.DestQP == bth.MulticastQPN })},
	{Lesson{"cnp_packet", "CNP",
		"A congestion notification packet. It carries no data; it asks its receiver to send more slowly.",
		"IBA A17.9.3"}, service(bth.ServiceCNP)},
}

var encodingLessons = []entry{
	{Lesson{"psn", "Packet sequence numbers",
		"The packet sequence number (PSN) counts packets, where TCP counts bytes. It has 24 bits. Each " +
			"direction starts at a number that both sides agreed on; the response to a READ uses the PSNs of its " +
			"request. A receiver executes requests in the order of their PSNs.",
		"IBA 9.7"}, connected},
	{Lesson{"reth", "Address, key and length",
		"The RETH (RDMA extended transport header) has the address of the remote memory, its length and its " +
			"key (R_Key). A READ request and the first packet of a WRITE have it; the later packets of a WRITE and the " +
			"responses, where this note may appear, do not. The program that owns the memory gave the key to the " +
			"requester; it permits certain operations on one memory region.",
		"IBA 9.3"}, header(bth.HasRETH)},
	{Lesson{"packets", "Messages of several packets",
		"A message longer than the path MTU is sent as several packets, FIRST, MIDDLE and LAST; any other as " +
			"ONLY. Every packet except the last carries exactly one path MTU (256, 512, 1024, 2048 or 4096 " +
			"bytes), so no packet needs an offset.",
		"IBA 9.2, 9.7.4.1.6"}, decoded(first)},
	{Lesson{"ack_req", "AckReq",
		"The requester sets this bit to ask for an acknowledgement: in the last or only packet of a message, and " +
			"in some packets of a long one, so that the requester's window does not fill up. Other SEND and WRITE " +
			"packets need none of their own: an acknowledgement covers all packets before it. A READ or an atomic is " +
			"always answered, with the bit or without.",
		"IBA 9.7.5.1"}, decoded(func(p *trace.Packet) bool { return p.BTH.AckReq && p.Role == trace.Request })},
	{Lesson{"aeth", "Syndrome and MSN",
		"Each acknowledgement has an AETH (ACK extended transport header). Its first byte is the syndrome: " +
			"ACK with a number of credits, RNR NAK with a waiting time, or NAK with a reason. The other three " +
			"bytes are the MSN (message sequence number), which counts the messages that the responder has completed.",
		"IBA 9.7.5"}, header(bth.HasAETH)},
	{Lesson{"immediate", "Immediate data",
		"The receiving program gets these four bytes in its completion. A WRITE with immediate data notifies " +
			"that program of the WRITE; it uses one of the posted receives.",
		"IBA 9.3"}, header(bth.HasImmDt)},
	{Lesson{"invalidate", "SEND with invalidate",
		"The receiver invalidates the key that the message names: the sender no longer needs access to that " +
			"memory. The receiving program need not do it.",
		"IBA 9.3"}, header(bth.HasIETH)},
	{Lesson{"solicited", "Solicited events",
		"The receiving program may sleep until a message with this bit arrives, and then handle the earlier " +
			"messages as well.",
		"IBA 9.2.3"}, decoded(func(p *trace.Packet) bool { return p.BTH.Solicited })},
	{Lesson{"pad", "Pad",
		"The payload is padded to a multiple of four bytes; the pad count is the number of pad bytes. The " +
			"ICRC covers them, but they are not part of the message.",
		"IBA 9.2"}, decoded(func(p *trace.Packet) bool { return p.BTH.Pad != 0 })},
	{Lesson{"icrc", "The invariant CRC",
		"The last four bytes of a packet are a CRC over all fields that routers do not change, from the IP " +
			"header to the pad. The UDP checksum is often 0, so the ICRC protects the packet from end to end.",
		"IBA annex A17"}, decoded(func(p *trace.Packet) bool { return p.ICRC.Verdict == trace.Right })},
}
