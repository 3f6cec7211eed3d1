// Package transport implements the transport layer of the InfiniBand Architecture (IBA volume 1,
// chapter 9) as state machines: [RC] for a reliable connection, [UC] for an unreliable connection
// and [UD] for unreliable datagrams and QP1. A machine has no clock, lock, goroutine or I/O: the
// time is a parameter, a deadline is a return value, and packets leave by being appended to a
// [packet.Batch].
//
// # Driving a machine
//
// A machine belongs to one [qp.QP]. It executes the work requests of its send queue, takes
// receives from its receive queue and passes completions to its CQs. transport imports qp because
// queues are data that the machines work on: a machine executes a send work request in place, in
// its slot of the send queue. The owner of the machine calls
//
//   - Receive for each packet, after checking its ICRC, destination QPN and source address.
//     Receive executes a request or processes a response and returns a [Verdict]. It sends
//     nothing: what the machine has to answer waits for Transmit.
//   - Transmit after Receive, Timeout, Modified and a post, and again while it returns true. It
//     appends responses, acknowledgements and requests as frames to a batch. The owner adds the
//     ICRC and sends the batch.
//   - Timeout at the time that NextTimeout returns.
//   - Modified after each [qp.QP.Modify]. It applies the new state and attributes: ERR flushes the
//     queues, RESET empties them, RTR starts the responder and RTS the requester.
//   - Posted after a post, which flushes the queues in ERR and the send queue in SQE.
//   - Sent, for UC and UD, after the batch was sent: their work requests complete when their last
//     packet has left, those of an RC when the peer has acknowledged them.
//
// A UD also chooses a link: [UD.Link] returns the one of the next datagram's address handle, and
// [UD.ReceiveFrom] takes the network header of a received datagram.
//
// [Time] is a number of nanoseconds on a monotonic clock. Machines change the state of a queue
// pair themselves only to ERR, and UC and UD to SQE; all other changes come from [qp.QP.Modify].
//
// # The requester
//
// The requester of an RC (requester*.go) sends requests and processes responses. Its PSNs satisfy
// una <= send <= next:
//
//	           una               send              next
//	acknowledged |    outstanding  | to be sent again | never sent
//
// send is below next only after going back. The IBA recovers from loss by go-back-N: after a
// timeout, an RNR NAK, or an implied NAK for a READ, the requester sends again from una on.
//
// A sequence NAK asks for one packet. A responder of this package keeps the packets that arrived
// after a gap, so sending all of them again is a waste. The requester first sends only the missing
// packet, a repair, and goes back to una only for a peer that does not keep early packets
// (requester_retransmit.go). To a peer that does, it also sends a probe, as the tail loss probe of
// TCP does (RFC 8985), when an answer takes longer than the RTT samples predict (RFC 6298), long
// before the local ACK timeout. A READ is sent as several READ requests, and a WRITE may be sent as
// several WRITE messages (chunk.go).
//
// Three limits apply to outstanding PSNs. The congestion window comes from a [Congestion], which is
// defaultCongestion unless [Config] names another. A [Share] limits what several requesters
// together have outstanding. max_rd_atomic limits READs and atomics.
//
// # The responder
//
// The responder of an RC (responder*.go) executes the request with the expected PSN. It keeps a
// request that is ahead of it in an [EarlyPool] (early.go) and answers one that is behind it, a
// duplicate, without executing it again. Acknowledgements are cumulative, so at most one ACK or NAK
// is pending. READs, atomics, FLUSHes and ATOMIC WRITEs have responses of their own: a resource
// remembers each of them so that a duplicate can be answered, and a job sends its responses
// (resources.go).
//
// A [Gather] holds back payloads for memory that is expensive to access, such as the memory of
// another process, and stores them in one call (gather.go).
//
// # Concurrency
//
// At any time, only one goroutine may use a machine. The same holds for all machines that have an
// EarlyPool, a Gather or a Share in common.
//
// # Configuration and citations
//
// [Config] has every constant that is a choice of the implementation rather than a rule. Section
// numbers in comments refer to IBA volume 1. C9-n and C10-n are its compliance statements;
// annex A17 defines RoCEv2, and annex A19 FLUSH and ATOMIC WRITE. Linux rxe is the software RoCE
// driver of the Linux kernel (drivers/infiniband/sw/rxe).
package transport
