// Package verbspeer performs the operations that no example program of rdma-core does (FLUSH, ATOMIC WRITE, memory windows, SEND
// with invalidate or with immediate data) between gorxe and another end, which is gorxe as well or verbs_peer.py: a script that
// uses rdma-core's own Python bindings, and so a stock library and kernel.
//
// What an operation consists of is data, ops.json, that both ends read. The client tells its queue pair, learns the server's and
// a key to its memory, performs the steps and lets the server look at what came of them; messages are JSON, one a line. Every
// round has a queue pair of its own.
package verbspeer
