// Package verbs is an RDMA NIC made of software, for Go programs: verbs over RoCEv2
// without an RNIC, a kernel module or privileges. The other end may be gorxe, Linux rxe or
// a real RNIC.
//
// A [Device] stands on links: UDP sockets on port 4791 of this host's addresses
// ([Config].Device), or any others ([Config].Links), such as a network in memory. With
// [Config].Follow it has whatever addresses the host has while it is open. On the
// device a program makes what it would make with libibverbs, under the same names: a [PD],
// regions of memory ([PD.RegMR]), completion queues ([CQ]) and queue pairs ([QP]). Two
// queue pairs that were told each other's [ConnInfo] exchange SEND, RDMA WRITE, RDMA READ and
// atomics; those of type [UD] send datagrams to whoever an address handle ([AH]) leads to.
// Memory is opened to a peer for as long as it is needed by a window ([MW]) or a fast region
// ([FastMR]).
//
// Everything may be used by many goroutines at once. What a work request names (a region's
// bytes) belongs to the device from the post to the completion.
//
// Values, limits and error texts are those of verbs where verbs has them; sources are the
// InfiniBand Architecture specification, volume 1 (IBA), and Linux rxe.
package verbs
