// Package pingpong implements the TCP exchange of rdma-core's ibv_*_pingpong.
//
// One connection, one text of 52 bytes in each direction, then five bytes from the client:
//
//	client -> server  "LID:QPN:PSN:GID\0"
//	                  the server moves its queue pair to RTS
//	server -> client  "LID:QPN:PSN:GID\0"
//	client -> server  "done\0", then the client moves its queue pair to RTS
//
// ibv_srq_pingpong sends 256 of the texts where the others send one.
//
// [Dest] is the text, [Script] returns the order of the steps, [Drive] performs them over a
// connection, and [Answer] is a server that serves all pingpongs.
package pingpong
