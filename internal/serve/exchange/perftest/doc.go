// Package perftest implements the exchange of perftest's tools (ib_write_bw, ib_read_lat, ...):
// the items, their order and their encoding.
//
// Every item is sent in both directions, first by the client, and has the same size in both. A
// test starts with the version, the size of the buffer that small messages cycle through, the
// cache line size and the path MTU; then the Key of each queue pair; the rest depends on the
// test. The parameters of the test (operation, size, count) are not sent: both ends must be
// started with the same ones.
//
// The exchange runs over TCP or, with -R, over a connection of rdma_cm, which then also connects
// the queue pairs of the test. With -R an item is a SEND, and keys are binary. Every test starts
// with the same items and a gate, which is an empty key; the client connects its queue pairs to the
// port of the exchange, and a second gate follows.
//
// [Script] returns the steps as data, the codecs convert items to bytes, and [Drive] and
// [DriveManaged] perform a script over a connection. [Answer] is a server that recognizes the
// items of any test. Order and encoding are those of perftest 4.5-0.17, whose version on the wire
// is 6.06; every release from 5.70 to 6.29 uses them with a peer that announces less than 6.28.
package perftest
