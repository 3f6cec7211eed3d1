// Package cm holds the InfiniBand connection manager's messages and the
// arithmetic of its timeouts: what two RDMA hosts say to each other before
// and after the queue pairs that they connect.
//
// # The connection manager
//
// The CM speaks in management datagrams (MADs) of 256 bytes between queue
// pairs 1 of two hosts, which nobody acknowledges: a side that misses an
// answer sends its message again. Every side names a connection by a
// communication ID of its own choice.
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
// # The messages
//
// [MAD] is one of these messages with its header. [MAD.Decode] reads one from
// any bytes that a stranger may send and refuses with a [*DecodeError], whose
// [Reason] is dense enough to index an array of counters; [MAD.Encode] writes
// one and refuses what does not fit with a [*FieldError]. Neither allocates,
// and private data is borrowed from the buffer.
//
// Programs of rdma_cm connect to an IP address and a port: the port stands in
// the [ServiceID], the addresses in an [IPHeader] in front of the private data
// of REQ and SIDR_REQ.
//
// # Purity
//
// The package has no clock, no goroutine, no lock and no I/O.
//
// The tables in the comments are those of chapter 12 of the InfiniBand
// Architecture Specification, volume 1 (IBA); the IP CM service is its annex
// A11. Facts of Linux are those of its ib_cm and rdma_cm.
package cm
