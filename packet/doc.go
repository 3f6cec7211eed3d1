// Package packet moves RoCEv2 frames between a NIC made of software and a network.
//
// A [Frame] is the payload of one UDP datagram to port [Port], given in pieces that the link gathers.
// A [Link] carries frames from one local address. The links are in packages of their own: pipe (in memory), socket (an
// ordinary UDP socket, Linux; a packet socket, Linux with CAP_NET_RAW) and xdp (AF_XDP sockets, Linux with root); package
// links opens them by name and finds the best. [Tap] and package fault wrap any link. For links of your own, package
// linktest has the tests that every link must pass.
//
// The package knows nothing of what is inside a frame. It knows one thing about the outside that
// matters to the sealing of a frame: the RoCEv2 invariant CRC covers the UDP source port and, over
// IPv4, the identification and the flags of the IP header. A frame therefore goes through three steps:
//
//	link.Prepare(batch) // decides SrcPort, ID and FlagsFragment of every frame
//	                    // the caller seals: appends pad and ICRC to Trailer
//	link.Send(batch)
package packet
