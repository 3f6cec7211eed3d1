// Package respond is the built-in server for tools that measure RNICs: perftest clients
// (ib_write_bw and others), ibv_rc_pingpong and ibv_srq_pingpong connect to it, so that no server
// of the tool has to be started.
//
// These tools do not announce which test they run. A [Responder] recognizes the tool by its first
// bytes, and the test, as far as possible, by what follows:
//
//   - pingpong: each message is sent back, whatever its size. One address means ibv_rc_pingpong,
//     256 mean ibv_srq_pingpong. The path MTU is not announced: it is 1024 bytes, the tools'
//     default. ibv_uc_pingpong and ibv_ud_pingpong send the same as ibv_rc_pingpong; none of
//     their messages arrives.
//   - perftest: peers may write, read and atomically change all of a session's memory, and each
//     key of the client is answered with that of a queue pair. That suffices for ib_write_bw,
//     ib_read_bw, ib_read_lat, ib_atomic_bw and ib_atomic_lat with any number of queue pairs
//     (-q). Receives are always posted, for ib_send_bw; a client that sends one message and waits
//     is ib_send_lat, whose messages are sent back.
//
// Not served: ib_write_lat, whose server must poll its memory; ib_send_bw -b, whose server must
// send as many messages; -c UC and UD; -R. With -b, ib_write_bw and ib_read_bw run in one
// direction only. A client that is not served sends nothing, or stops; its session ends with a
// log line that says so.
//
// With [Limits.Payload] all perftest clients must send that payload (their
// --payload_file_path). Memory then reads as its complement until it is written. Each SEND has
// its own slot and is compared when it completes; written memory is compared when the session
// ends. A wrong byte ends the session. Atomics are rejected.
//
// [Limits] limits the number of sessions, in total and per peer, and their memory, queue pairs,
// items of the exchange and time without progress. Connections and items are rate-limited. A
// session ends when its TCP connection does; that of a pingpong, whose tools close it at the
// start of the test, ends when no more packets arrive.
package respond
