// Package socket provides the links that use sockets of the Linux kernel:
//
//   - [ListenUDP] opens a link over an ordinary UDP socket, which needs no privilege;
//   - [ListenRaw] opens a link over a packet socket, which needs CAP_NET_RAW. A UDP socket
//     beside it owns the port and sends what a packet socket cannot;
//   - [Companion] is such a UDP socket for a link of another package;
//   - [PortProbe] detects a host on which nothing listens at the RoCEv2 port.
//
// Frames of equal size to one path are sent as a segment train (UDP_SEGMENT). A link limits the
// bytes in its send buffer that wait for neighbours that do not answer; see waiting.
//
// Sending is serialized by the mu of udpTx or rawTx. The receive state is in the caller's
// RecvBatch, so receivers with different batches need no lock; RecvLocked runs under the caller's
// mutex.
//
// On other systems all functions that open a socket return an error.
package socket
