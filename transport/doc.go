// Package transport implements the transport layer of the InfiniBand Architecture (IBA volume 1,
// chapter 9) as state machines: [RC] for a reliable connection, [UC] for an unreliable connection
// and [UD] for unreliable datagrams and QP1. In this package, machine means such a state machine. A
// machine has no clock, lock, goroutine or I/O: the time is a parameter, a deadline is a return
// value, and outgoing packets are appended to a [packet.Batch].
//
// # Driving a machine
//
// A machine belongs to one [qp.QP]. It executes the work requests of its send queue, takes
// receives from its receive queue and passes completions to its CQs. transport imports qp because
// a queue is only data: the machine executes a send work request in its slot of the send queue. The
// caller of a machine calls
//
//   - Receive for each packet, after checking its ICRC, destination QPN and source address.
//     Receive executes a request or processes a response and returns a [Verdict]. It sends
//     nothing: the next Transmit sends the responses.
//   - Transmit after Receive, Timeout, Modified and Posted, and again while it returns true. It
//     appends responses, acknowledgements and requests as frames to a batch. The caller appends
//     the ICRC to each frame and sends the batch.
//   - Timeout at the time that NextTimeout returns.
//   - Modified after each [qp.QP.Modify]. It applies the new state and attributes: ERR flushes the
//     queues, RESET empties them, RTR starts the responder and RTS the requester.
//   - Posted after it has added work requests to a queue. In ERR, Posted flushes both queues; in
//     SQE, the send queue.
//   - Sent, for UC and UD, after sending the batch. A work request of a UC or UD completes when its
//     last packet has been sent; a work request of an RC, when the peer has acknowledged it.
//
// Each datagram of a UD has its own link: [UD.Link] returns the link of the address handle of the
// next datagram. [UD.ReceiveFrom] replaces Receive and takes the network header of the datagram.
//
// [Time] is a number of nanoseconds on a monotonic clock. A machine changes the state of its queue
// pair only to ERR, or to SQE for UC and UD; [qp.QP.Modify] makes all other changes.
//
// # The requester
//
// The requester of an RC (requester*.go) sends requests and processes responses. Its PSNs satisfy
// una <= send <= next:
//
//	           una               send              next
//	acknowledged |    outstanding  | to be sent again | never sent
//
// send equals next unless the requester has gone back. The IBA recovers from loss by go-back-N:
// after a timeout, an RNR NAK, or an implied NAK for a READ, the requester retransmits all packets
// from una on.
//
// A sequence NAK names one missing packet. A responder of this package keeps the packets that
// arrive after a gap (early packets), so they need no retransmission. The requester first
// retransmits only the missing packet, a repair. It goes back to una only if the peer does not keep
// early packets (requester_retransmit.go).
//
// If the peer keeps early packets, the requester also sends a probe when a response takes longer
// than the RTT samples predict (RFC 6298), long before the local ACK timeout. The probe corresponds
// to the tail loss probe of TCP (RFC 8985).
//
// A long READ is sent as several READ requests, and a WRITE may be sent as several WRITE messages
// (chunk.go).
//
// Three limits apply to outstanding PSNs. A [Congestion] sets the congestion window; the default is
// defaultCongestion ([Config]). A [Share] limits the outstanding PSNs of several requesters
// together. max_rd_atomic limits outstanding READs and atomics.
//
// # The responder
//
// The responder of an RC (responder*.go) executes the request with the expected PSN. It keeps
// requests with later PSNs in an [EarlyPool] (early.go). It answers requests with earlier PSNs,
// which are duplicates, without executing them again, except a READ, which it executes again.
// Acknowledgements are cumulative, so at most one ACK or NAK is pending.
//
// READs, atomics, FLUSHes and ATOMIC WRITEs have responses of their own. For each of them, a
// responder resource stores what is needed to answer a duplicate, and a job sends the responses
// (resources.go).
//
// A [StoreBatch] collects payloads for memory that is expensive to access, such as the memory of
// another process, and stores them together in one call (storebatch.go).
//
// # Concurrency
//
// A machine is not safe for concurrent use: its caller serializes all calls. If machines have an
// EarlyPool, a StoreBatch or a Share in common, the caller serializes the calls of all of them.
//
// # Configuration and citations
//
// [Config] has the parameters that the IBA leaves to the implementation. Section numbers in
// comments refer to IBA volume 1. C9-n and C10-n are its compliance statements; annex A17 defines
// RoCEv2, and annex A19 defines FLUSH and ATOMIC WRITE. Linux rxe is the software RoCE driver of
// the Linux kernel (drivers/infiniband/sw/rxe).
package transport
