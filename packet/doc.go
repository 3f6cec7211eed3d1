// Package packet defines how a software NIC sends and receives RoCEv2 frames.
//
// A [Frame] is the payload of one UDP datagram to port [Port], in pieces that the link gathers.
// A [Batch] holds outgoing frames, a [RecvBatch] incoming ones ([Received]). A [Link] sends and
// receives frames at one local address. The links are in packages of their own: pipe (in
// memory), socket (UDP sockets, Linux; packet sockets, Linux with CAP_NET_RAW) and xdp (AF_XDP
// sockets, Linux as root). Package links opens them by name and selects the best one. [Tap] and
// package fault wrap any link. Package linktest contains the tests that every link must pass.
//
// Features that only some links have are interfaces of their own: [Shared], [Splitter] and
// [PendingReporter] for receiving, [Joiner] for multicast, [Holder] for next hops, [StateWatcher],
// [Resizable], [Loopback] and [StatsReporter]. For each of them except Resizable, this package has
// functions that accept any Link.
//
// The package does not interpret the content of a frame. It knows only what the caller needs to
// seal a frame: the RoCEv2 invariant CRC (ICRC) covers the UDP source port and, over IPv4, the
// identification and flags of the IP header. A frame is therefore sent in three steps:
//
//	link.Prepare(batch) // decides SrcPort, ID and FlagsFragment of every frame
//	                    // the caller seals: appends pad and ICRC to Trailer
//	link.Send(batch)
package packet
