// Package rping is what rping of rdma-core does on a connection: the client names a buffer, the
// server READs it, the client names another, the server WRITEs the text there.
//
//	client                                    server
//	SEND {address, key, size} of the source
//	                                          READ size bytes
//	                                          SEND, go on
//	SEND {address, key, size} of the sink
//	                                          WRITE the text and its final zero
//	                                          SEND, done
//
// A SEND is 16 bytes: the address, the key and the size, big-endian. What the server's SENDs
// carry means nothing. Whoever is at the other end may be rping of Linux or this package.
package rping

// Port is rping's port in the port space TCP.
const Port = 7174

// Limits of the size of a ping in bytes, rping's.
const (
	MinSize = 23
	MaxSize = 65535
)

// DefaultSize is the size of a ping in bytes where nobody says another.
const DefaultSize = 64
