// Package xsk sends and receives the Ethernet frames of selected UDP traffic through AF_XDP
// sockets.
//
// An [Interface] holds what all addresses of a network interface share: an XDP program that
// redirects packets for these addresses and passes all other packets to the IP stack of the host,
// and for each receive queue of the interface an area of memory (UMEM) that the kernel fills and
// reads. An [Endpoint] is one address. It has a socket for each queue; all sockets of a queue share
// its UMEM. The XDP program selects the endpoint of a packet, so user space never forwards frames
// between endpoints.
//
// The program is attached by a BPF link: when the last endpoint is closed, or the process ends
// for whatever reason, the kernel detaches it.
//
// Locks: a package-level mutex guards the set of interfaces and their endpoints;
// Endpoint.receiving guards the receive rings of an endpoint; a queue has one mutex for the
// fill ring and one for the send rings.
//
// The package requires Linux 5.9 and the capabilities CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and
// CAP_IPC_LOCK (which root has). The thread that calls Open must be in the network namespace of
// the interface. IPv4 addresses must not be IPv4-mapped; IPv6 addresses have no zone.
package xsk
