// Package perftest is the exchange of perftest's tools (ib_write_bw, ib_read_lat, ...): which items are traded, in
// which order, as which bytes.
//
// Every item goes both ways, the client's first, and both ends send items of the same size. A test begins with the
// version, the size of the buffer that small messages cycle through, the cache line and the path MTU; then each queue
// pair's Key; what follows depends on the test. Nothing of the test itself (operation, size, count) is told: both
// ends must be started with the same parameters.
//
// The exchange runs over TCP or, with -R, over a connection of rdma_cm, which then also makes the queue pairs of the test: an item is
// a SEND there, and keys are binary. Every test begins with the same items and a gate; the client connects its queue pairs to the
// port of the exchange, and a second gate closes behind them.
//
// Script gives the order as data, the codecs give the bytes, Drive and DriveManaged carry a script out over a connection.
// Order and bytes are those of perftest 4.5-0.17, whose version on the wire is 6.06; every release from 5.70 to 6.29
// uses them with a peer that announces less than 6.28.
package perftest
