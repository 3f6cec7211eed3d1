// Package verbspeer performs the operations that no example program of rdma-core performs (FLUSH,
// ATOMIC WRITE, memory windows, SEND with invalidate or with immediate data) between gorxe and
// another end. The other end is gorxe too, or verbs_peer.py, a script with rdma-core's own Python
// bindings, and thus on a stock library and kernel.
//
// The steps of an operation are data, in ops.json, which both ends read. The client sends its
// queue pair number, receives the server's and a key to its memory, performs the steps and lets
// the server check the results. Messages are JSON, one on each line. Every round has a new queue
// pair. [Config.Run] is the client, [Config.Serve] the server.
package verbspeer
