// Package transport implements the transport layer of the InfiniBand Architecture (IBA volume 1,
// chapter 9) as state machines: [RC] for a reliable connection, [UC] for an unreliable connection
// and [UD] for unreliable datagrams and QP1. In this package, machine means such a state machine. A
// machine has no clock, lock, goroutine or I/O: the time is a parameter, a deadline is a return
// value, and outgoing packets are appended to a [packet.Batch].
//
// # Driving a machine
//
// A machine belongs to one [qp.QP]. It executes the work requests of its send queue, takes receives
// from its receive queue and passes completions to its CQs. transport imports qp because a queue is
// only data: the machine executes a send work request in its slot of the send queue. The caller of
// a machine calls
//
//   - Receive for each packet, after checking its ICRC, destination QPN and source address. Receive
//     executes a request or processes a response and returns a [Verdict]. It sends nothing: the
//     next Transmit sends the responses.
//   - Transmit after Receive, Timeout, Modified and Posted, and again while it returns true. It
//     appends responses, acknowledgements and requests as frames to a batch. The caller appends the
//     ICRC to each frame and sends the batch.
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
// # Files
//
//	rc.go                    RC: state changes, Receive, Transmit, timers
//	requester.go             requester of an RC: PSNs, retry budgets, local ACK timer, window
//	requester_send.go        requests: order, limits, headers, AckReq
//	requester_response.go    responses: ACK, NAK, READ data
//	requester_retransmit.go  retransmission of single packets, and probes
//	requester_local.go       work requests that send nothing: LOCAL_INV, BIND_MW, REG_MR
//	chunk.go                 division of long READs and WRITEs into several messages
//	responder.go             responder of an RC: checks and execution of SEND and WRITE
//	responder_reply.go       ACKs, NAKs, READ responses and duplicates
//	resources.go             requests that can be answered again
//	early.go                 requests that arrive before an earlier one
//	inbound.go               SEND or WRITE in progress, at the receiving end of RC and UC
//	atomic.go, flush.go      both ends of atomics, FLUSH and ATOMIC WRITE
//	uc.go, ud.go             UC; UD with address handles and the network header
//	core.go                  state and frames common to all machines; send queue of UC and UD
//	complete.go              completions, flushing and resetting of the queues
//	congestion.go, share.go  congestion window of a queue pair; limit of several together
//	storebatch.go            storing of received payload
//	payload.go               reading of payload to be sent
//	config.go, counters.go   Config; Counters, Progress, Verdict and NAK codes
//
// # The life of a WRITE
//
// A program posts a WRITE of three path MTUs, and the caller calls Posted and Transmit. At the
// requester:
//
//   - RC.sendQueued reaches the work request. startWQE looks up the local keys and assigns it three
//     PSNs. chunkOf decides whether it is sent as one message or as several.
//   - sendPacket appends FIRST, MIDDLE and LAST to the batch. Each payload is borrowed from the
//     region or copied from it (payload.go). LAST has AckReq.
//   - sent advances send and next, and starts the local ACK timer with the first packet.
//
// At the responder, Receive is called for each packet:
//
//   - request compares the PSN with the expected one, and inOrder checks the opcode and the payload
//     length against the packet before.
//   - takeWrite checks the RETH of FIRST: right of the queue pair, key, bounds, right of the
//     region. It stores each payload, or holds it back in the StoreBatch.
//   - executed makes the next PSN the expected one. After LAST, it increments the MSN and queues an
//     ACK.
//   - The caller calls StoreBatch.Settle, which stores what is held back, and then Transmit, which
//     appends the ACK. The program of the responder is not notified.
//
// The ACK arrives at the requester. response finds its PSN outstanding. acknowledge advances una
// behind LAST, removes the work request from the send queue and generates its completion.
// progressed restores the retry budgets, lets the window grow and stops the timer.
//
// # The life of a loss
//
// The network drops MIDDLE of that WRITE. The responder receives LAST, whose PSN is ahead.
// receiveEarly queues one sequence NAK with the PSN of MIDDLE and keeps LAST. At the requester,
// sequenceNAK takes FIRST as acknowledged, and repairOrGoBack schedules MIDDLE alone. New requests
// follow it. The responder executes MIDDLE and then the kept LAST, and one ACK covers both. That
// ACK proves to the requester that its peer keeps early packets.
//
// If the NAK or the repaired MIDDLE is lost too, a probe sends MIDDLE again after a few round-trip
// times, once the peer has proved that it keeps early packets. If probes fail as well, or the peer
// may not be probed, the local ACK timer expires: ackTimeout spends one retry, halves the window
// and goes back to MIDDLE. After retry_cnt timeouts without progress, the next one completes the
// WRITE with RETRY_EXC_ERR and puts the queue pair into ERR.
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
// after a timeout, an RNR NAK, or an implied NAK, the requester retransmits all packets from una
// on. An implied NAK is any response beyond a READ or atomic whose data has not arrived (IBA
// 9.7.5.1.2): a responder cannot tell that a response was lost.
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
// comments refer to IBA volume 1. Numbers such as C9-92 and o9-116 are its compliance statements,
// of which those with a lower-case o apply to optional features. Annex A17 defines RoCEv2, with
// statements CA17-n; annex A19 defines FLUSH and ATOMIC WRITE, with statements oA19-n. Linux rxe is
// the software RoCE driver of the Linux kernel (drivers/infiniband/sw/rxe).
package transport
