// Package verbs is a software RDMA NIC for Go programs: verbs over RoCEv2 without an RNIC, a
// kernel module or privileges. It interoperates with Linux rdma_rxe; it has not been tested with an
// RNIC.
//
// A [Device] sends and receives packets on links: UDP sockets on port 4791 of this host's
// addresses ([Config].Device), or any other links ([Config].Links), such as a network in memory.
// With [Config].Follow, the device adds and removes addresses when the host does.
//
// The objects of a device are those of libibverbs, with the same names: a [PD], memory regions
// ([PD.RegMR]), completion queues ([CQ]) and queue pairs ([QP]). To connect two queue pairs, their
// programs exchange [ConnInfo]s. Connected queue pairs execute SEND, RDMA WRITE, RDMA READ and
// atomics. Queue pairs of type [UD] send datagrams to the receiver that an address handle ([AH])
// names. A memory window ([MW]) or a fast-registration memory region ([FastMR]) gives a peer access
// to memory for a limited time.
//
// [Device.Dial] and [Device.Listen] connect queue pairs through the connection manager, as rdma_cm
// does. A [Context] groups the objects of one user, limits their number and closes them
// together.
//
// All types are safe for concurrent use. The memory that a work request names belongs to the
// device from posting until completion.
//
// If the InfiniBand verbs define a constant, a limit or an error text, this package has the same
// one. The references are the InfiniBand Architecture Specification, Volume 1 (IBA), and Linux rxe.
package verbs
