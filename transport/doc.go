// Package transport is the IBA transport layer (InfiniBand Architecture volume 1,
// chapter 9) as state machines without clock, lock, goroutine or I/O.
//
// An [RC] is one end of a reliable connection. It owns no queue and no thread: it
// pulls work requests from the send queue of the [qp.QP] that it drives, takes
// receive buffers from its receive queue, and hands completions to its CQs. Its
// owner calls
//
//   - [RC.Receive] for each packet whose ICRC, destination QPN and source address
//     were found right,
//   - [RC.Transmit] whenever it could have something to say: after Receive, after a
//     work request was posted, after Timeout, and as long as Transmit asks for more,
//   - [RC.Timeout] once the time that [RC.NextTimeout] named has come,
//   - [RC.Modified] after every change of the queue pair's attributes.
//
// All calls for one RC must come from one goroutine at a time. Time is a number of
// nanoseconds on a clock that never goes back; the zero has no meaning.
//
// A [UC] and a [UD] are driven likewise, with one call more: their requests complete with
// Sent, when what Transmit made has left. A UD sends by the links of its address handles and
// takes with each packet the network header that it came with ([UD.ReceiveFrom]).
//
// Files: requester*.go hold the half that sends requests and takes responses,
// responder*.go the half that executes requests and answers. [Config] has every
// constant that is a choice rather than a rule.
package transport
