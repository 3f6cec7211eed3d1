// Package perftest is the TCP exchange of perftest's tools (ib_write_bw, ib_read_lat, ...): which items are traded, in
// which order, as which bytes.
//
// Every item goes both ways, the client's first, and both ends send items of the same size. A test begins with the
// version, the size of the buffer that small messages cycle through, the cache line and the path MTU; then each queue
// pair's Key; what follows depends on the test. Nothing of the test itself (operation, size, count) is told: both
// ends must be started with the same parameters.
//
// Script gives the order as data, the codecs give the bytes, Drive carries a script out over a connection.
// Order and bytes are those of perftest 4.5-0.17, whose version on the wire is 6.06; every release from 5.70 to 6.29
// uses them with a peer that announces less than 6.28.
package perftest
