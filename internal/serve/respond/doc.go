// Package respond answers the tools that people point at an RNIC: the clients of perftest
// (ib_write_bw and the others) and of rdma-core's ibv_rc_pingpong and ibv_srq_pingpong find in it
// the server that they need, which nobody has to start.
//
// Neither tool says what it is going to do. What calls shows in its first bytes; what it does shows
// in what follows, and the responder is an end with which all that can be told apart works:
//
//   - pingpong: each message is sent back, whatever its size. One address is ibv_rc_pingpong, 256
//     are ibv_srq_pingpong. The path MTU is not told: it is 1024 bytes, the tools' default.
//     ibv_uc_pingpong and ibv_ud_pingpong say what ibv_rc_pingpong says; nothing of theirs arrives.
//   - perftest: peers may write, read and change all of a session's memory, and each key that the
//     client tells is answered with a queue pair's, so that ib_write_bw, ib_read_bw, ib_read_lat,
//     ib_atomic_bw and ib_atomic_lat find what they need, however many queue pairs they have (-q).
//     Receives are always posted, for ib_send_bw; a client that sends one message and waits is
//     ib_send_lat, and has its messages sent back.
//
// Not served: ib_write_lat, whose server has to watch its memory; -b of ib_send_bw, whose server has
// to send as many messages; -c UC and UD; -R. With -b, ib_write_bw and ib_read_bw see the responder do
// nothing of its own. A client that is not served sends nothing, or stops, and its session ends with
// a line of the log that says so.
//
// With [Limits.Payload] all clients of perftest are to bring that payload (their --payload_file_path).
// Memory then reads as its complement until it is written to; each SEND has a room of its own and is
// compared when it has come, and what was written when the session is over. A wrong byte ends the
// session for that reason. Atomics are refused.
//
// Sessions are bounded in number, in all and for each peer, in memory, in queue pairs, in items of
// the exchange, and in time without progress. Connections and items have a pace. One ends when its TCP connection does or, of a pingpong, whose tools hang up
// when they begin, when nothing comes any more.
package respond
