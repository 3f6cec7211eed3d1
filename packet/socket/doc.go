// Package socket has the links that are sockets of the Linux kernel: [ListenUDP] opens an ordinary UDP socket, which needs no
// privilege; [ListenRaw] a packet socket, which needs CAP_NET_RAW. A [Companion] is the UDP socket beside a link of another
// kind, and a [PortProbe] finds out whether anything listens at a host.
//
// Elsewhere than on Linux opening one is an error.
package socket
