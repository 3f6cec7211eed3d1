// Package pingpong is the TCP exchange of rdma-core's ibv_*_pingpong: who says what, in which order, as which bytes.
//
// One connection, one 52-byte text each way, then five bytes from the client:
//
//	client -> server  "LID:QPN:PSN:GID\0"
//	                  the server moves its queue pair to RTS
//	server -> client  "LID:QPN:PSN:GID\0"
//	client -> server  "done\0", then the client moves its queue pair to RTS
//
// ibv_srq_pingpong sends 256 of the texts where the others send one.
//
// Dest is the text; the scripts are the order; Drive carries a script out over a connection.
package pingpong
