// Package pingpong is the TCP exchange of rdma-core's ibv_rc_pingpong and ibv_uc_pingpong: who says what, in which order, as which bytes.
//
// One connection, one 52-byte text each way, then five bytes from the client:
//
//	client -> server  "LID:QPN:PSN:GID\0"
//	                  the server moves its queue pair to RTS
//	server -> client  "LID:QPN:PSN:GID\0"
//	client -> server  "done\0", then the client moves its queue pair to RTS
//
// Dest is the text; the scripts are the order; Drive carries a script out over a connection.
package pingpong
