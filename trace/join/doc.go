// Package join reads several captures: the files of a rotated capture as one, or captures of the
// same traffic at different points of the path.
//
//	Detect   tells from the packets which of the two it is
//	Files    reads captures in order of time, as one Source of frames
//	Join     matches the packets of two captures: where each loss happened, one-way delays
//	Chain    is the result for more captures, such as host, switch, other host: a Join of each two
//	         neighbours, and the losses at each place of the path
//
// # Matching
//
// A packet of one capture is the same as one of the other if its addresses, UDP source port, IP
// identification, length and transport headers are equal, and its ICRC too if both captures have a
// right one. Of several equal packets, which are retransmissions without an IP identification, the
// one whose time difference is closest to the offset of the clocks is taken. Unmatched packets wait
// for [Options.Wait] of capture time, at most maxPending of them.
//
// Copies of packets in one capture, such as one of the interface "any", are left out first; see
// [trace.Copies]. Virtual networks are not told apart: one capture may be from inside of a tunnel.
//
// # Timeouts
//
// A request that both captures have, and that is sent again after a timeout without a NAK, was lost
// behind the second capture point, or its response was; or nothing was lost, and the responder was
// slower than the timer. If the first acknowledgement after that includes a request that was not
// sent again yet, nothing but a response can have been lost, since a responder accepts requests in
// order only: Counts.Late counts these. If all outstanding requests had been sent again, as with
// messages of one packet, the captures do not tell, and the request is reported as lost behind the
// second capture point. gorxe records packets when its process handles them, so that with gorxe's
// own traces a busy host looks like this.
//
// # Order of the capture points
//
// A packet passes one capture point first. For two hosts, this is decided by the hop limit, which
// routers decrement, and by the directions in pcapng files: the sender's host has a packet as
// outbound, the receiver's as inbound. Without these it is decided by round trips: the capture
// point closer to the requester sees a longer time between a request and its response. The
// difference is independent of both clocks.
//
// # Clocks
//
// The offset between both clocks and its drift are fitted to the packets with the smallest delay
// in each direction, as in the convex hull method (Zhang, Liu and Xia, Clock Synchronization
// Algorithms for Network Measurements, INFOCOM 2002). Two one-way delays cannot be separated from
// an unknown offset: the fit assumes that the minimum delays of both directions are equal. The
// error of the offset and of every delay is at most half of the smallest round trip between the two
// points, which is reported. Delays above the minimum do not depend on the assumption.
//
// # State
//
// All state is bounded: two Analyzers with maxFlows flows each, maxPending waiting packets,
// maxDirections directions, maxEvents losses that are not decided yet, and maxLosses reported
// ones. The types are not safe for concurrent use.
package join
