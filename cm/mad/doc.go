// Package mad holds the messages of the InfiniBand connection manager (CM), which are management datagrams (MADs) of
// 256 bytes, and the arithmetic of the timeouts that they carry.
//
// A [Message] is a MAD with its header. [Message.Decode] reads one from any bytes that a stranger may send and refuses with
// a [*DecodeError], whose [Reason] is dense enough to index an array of counters; [Message.Encode] writes
// one and refuses what does not fit with a [*FieldError]. Neither allocates,
// and private data is borrowed from the buffer. [Explain] says more of why a message is refused.
//
// Programs of rdma_cm connect to an IP address and a port: the port is in
// the [ServiceID], the addresses are in an [IPHeader] in front of the private data
// of REQ and SIDR_REQ. [REQ.Check] says whether a request can be accepted at all.
//
// The package has no clock, no goroutine, no lock and no I/O.
//
// The tables in the comments are those of chapter 12 of the InfiniBand
// Architecture Specification, volume 1 (IBA); the IP CM service is its annex
// A11. Facts of Linux are those of its ib_cm and rdma_cm.
package mad
