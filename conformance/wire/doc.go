// Package wire sends and receives the RoCEv2 packets of the conformance tester. A [Packet] can
// have any value in any byte, also illegal ones; a [Received] packet keeps the bytes as they came.
//
// A [Link] is a socket at one local address. A UDP link needs no privileges, but the kernel writes
// the IP header, and removes that of received packets. A raw link (CAP_NET_RAW) can send any IP
// packet or Ethernet payload and shows the headers of received ones.
//
// The package shares only the codec of package bth with gorxe, and no link, so that an error of
// gorxe's sockets or transport does not hide in the tester.
package wire
