// Package rping implements the protocol of rdma-core's rping: the client names a buffer, which the
// server READs, then a second buffer, to which the server WRITEs the text.
//
//	client                                    server
//	SEND {address, key, size} of the source
//	                                          READ size bytes
//	                                          SEND, continue
//	SEND {address, key, size} of the sink
//	                                          WRITE the text and its final zero
//	                                          SEND, done
//
// A SEND is 16 bytes: the address, the key and the size, big-endian. The contents of the server's
// SENDs have no meaning. The peer may be rping of Linux or this package.
package rping

// Port is rping's port in the port space TCP.
const Port = 7174

// Limits of the size of a ping in bytes, those of rping.
const (
	MinSize = 23
	MaxSize = 65535
)

// DefaultSize is the default size of a ping in bytes.
const DefaultSize = 64
