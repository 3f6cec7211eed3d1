// Package xsk moves Ethernet frames of chosen UDP traffic between a network interface and user space by AF_XDP sockets.
//
// An [Interface] is what all addresses of one network interface share: an XDP program that redirects what is sent to them
// and passes everything else to the host's stack, and for every receive queue of the interface a piece of memory (UMEM)
// that the kernel fills and empties. An [Endpoint] is one address: a socket for each queue, all of which share the
// queue's memory. The kernel finds the endpoint, so nobody hands frames on.
//
// The program is attached by a BPF link: when the last endpoint is closed, or the process ends in whatever way, the
// interface is without a program.
//
// It takes Linux 5.9 and the capabilities CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_IPC_LOCK (root has them). The calling thread of
// Open is to be in the network namespace of the interface. IPv4 addresses are given as such, IPv6 addresses without zone.
package xsk
