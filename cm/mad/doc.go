// Package mad encodes and decodes the messages of the InfiniBand connection manager (CM), which
// are management datagrams (MADs) of 256 bytes, and computes the timeouts that they carry.
//
// A [Message] is a MAD with its header. [Message.Decode] accepts any bytes, including hostile
// ones, and rejects invalid messages with a [*DecodeError], whose [Reason] can index an array of
// counters. [Message.Encode] rejects values that do not fit with a [*FieldError]. Decode
// allocates nothing, and decoded private data aliases the buffer. [Explain] adds details to a
// rejection.
//
// Programs that use rdma_cm connect to an IP address and a port: the port is in the [ServiceID],
// the addresses are in an [IPHeader] before the private data of REQ and SIDR_REQ. [REQ.Check]
// reports whether a request can be accepted at all.
//
// The package has no clock, no goroutine, no lock and no I/O.
//
// Table numbers in comments refer to chapter 12 of the InfiniBand Architecture Specification,
// Volume 1 (IBA); the IP CM service is its annex A11. Facts about Linux refer to its ib_cm and
// rdma_cm.
package mad
