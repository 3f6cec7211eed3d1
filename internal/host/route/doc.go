// Package route answers the questions of rdma_resolve_addr and rdma_resolve_route: from which
// address, by which interface and next hop, and with which MTU this host sends to a destination,
// and whether the next hop is reachable.
//
// [Find] looks up a [Route], [Resolve] also waits for the link-layer address of the next hop, and
// [Hops] caches and follows the next hops of many destinations.
//
// On Linux (5.0 and later) Find and Resolve query the kernel over rtnetlink(7), without privileges,
// in each call: nothing is cached. A route costs four or five short queries, together less than 0.1
// ms. The queries are about the network namespace of the calling thread. On other systems a
// connected UDP socket gives the source address, and gateways and neighbours are unknown.
package route
