// Package route answers what rdma_resolve_addr and rdma_resolve_route answer: from which
// address, by which interface and next hop, and with which MTU this host sends to another, and
// whether the next hop is there.
//
// On Linux (5.0 and later) the kernel is asked over rtnetlink(7), without privileges, each time: nothing is
// remembered, so an answer is as old as the call. The sockets belong to the network namespace of
// the calling thread. Elsewhere a connected UDP socket says the source address, and nothing is known
// of gateways and neighbours.
package route
