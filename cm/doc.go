// Package cm implements the InfiniBand connection manager (CM): the state machine of the messages
// that two RDMA hosts exchange before and after they connect queue pairs.
//
// The CM sends management datagrams (MADs) of 256 bytes between the queue pairs 1 of two hosts.
// They are not acknowledged: a side that gets no answer retransmits its message. Each side assigns
// its own communication ID to a connection.
//
//	active       passive
//	REQ    --->          queue pair, PSN, path, service ID, private data
//	       <---  MRA     answer to REQ or REP: the reply takes longer
//	       <---  REP     queue pair, PSN, private data; or REJ with a reason
//	RTU    --->          data may overtake it
//	DREQ   <-->  DREP    end of the connection, followed by TIMEWAIT
//
// A datagram queue pair has no connection: SIDR_REQ requests the queue pair of a service, and
// SIDR_REP contains its number and its Q_Key.
//
// [Manager] is the state machine of one host. Its inputs are MADs, calls of the program and the
// time; its outputs are MADs and events. Package [github.com/gorxe/gorxe/cm/mad] contains the
// messages and their encoding.
//
// The package has no clock, no goroutine, no lock and no I/O: the caller serializes all calls of
// a Manager.
//
// Table numbers in comments refer to chapter 12 of the InfiniBand Architecture Specification,
// Volume 1 (IBA). Facts about Linux refer to its ib_cm and rdma_cm.
package cm
