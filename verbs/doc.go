// Package verbs is a software RDMA NIC for Go programs: verbs over RoCEv2 without an RNIC, a
// kernel module or privileges. The peer may be gorxe, Linux rxe or a hardware RNIC.
//
// A [Device] sends and receives packets on links: UDP sockets on port 4791 of this host's
// addresses ([Config].Device), or any other links ([Config].Links), such as a network in memory.
// With [Config].Follow its addresses follow those of the host. A program creates the same objects
// on it as with libibverbs, under the same names: a [PD], memory regions ([PD.RegMR]), completion
// queues ([CQ]) and queue pairs ([QP]). Two queue pairs that have exchanged their [ConnInfo]
// exchange SEND, RDMA WRITE, RDMA READ and atomics; queue pairs of type [UD] send datagrams to
// the receiver that an address handle ([AH]) names. A memory window ([MW]) or a fast region
// ([FastMR]) gives a peer access to memory for a limited time.
//
// [Device.Dial] and [Device.Listen] connect queue pairs by the connection manager, as rdma_cm. A
// [Context] groups the objects of one client, with limits, so that they can be closed together.
//
// All types are safe for concurrent use. The memory that a work request names belongs to the
// device from posting until completion.
//
// Values, limits and error texts are those of verbs if verbs defines them. The sources are the
// InfiniBand Architecture Specification, Volume 1 (IBA), and Linux rxe.
package verbs
