// Package cm is the InfiniBand connection manager: the state machine of the messages that two RDMA hosts exchange
// before and after the queue pairs that they connect.
//
// The CM sends management datagrams (MADs) of 256 bytes between queue pairs 1 of two hosts. They are not acknowledged:
// a side that misses an answer sends its message again. Each side names a connection by a communication ID of its own.
//
//	active       passive
//	REQ    --->          queue pair, PSN, path, service ID, private data
//	       <---  MRA     later, as an answer to REQ or REP: it takes longer
//	       <---  REP     queue pair, PSN, private data; or REJ with a reason
//	RTU    --->          data may overtake it
//	DREQ   <-->  DREP    the end; the queue pair number then rests (timewait)
//
// A datagram queue pair has no connection: SIDR_REQ asks for the queue pair of
// a service, SIDR_REP names it and its Q_Key.
//
// [Manager] is the machine of one host: it takes MADs, calls of the program and the time, and returns MADs and events. What the
// messages hold and how they are encoded is in package [github.com/gorxe/gorxe/cm/mad].
//
// The package has no clock, no goroutine, no lock and no I/O.
//
// The tables in the comments are those of chapter 12 of the InfiniBand
// Architecture Specification, volume 1 (IBA). Facts of Linux are those of its ib_cm and rdma_cm.
package cm
