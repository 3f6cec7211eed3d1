// Package rings holds the queue rings that gorxe shares with programs of other processes:
// libibverbs with its rxe provider posts work requests to them and polls completions from them.
// The layout is that of Linux (include/uapi/rdma/rdma_user_rxe.h): struct rxe_queue_buf with a
// producer and a consumer index, followed by slots of 2^log2_elem_size bytes.
//
//   - [SendRing] is the [qp.SendSource] of a queue pair: slots of struct rxe_send_wqe.
//   - [RecvRing] is the [qp.RecvSource] of a queue pair, or a shared receive queue: slots of
//     struct rxe_recv_wqe.
//   - [CompletionRing] is a [qp.CompletionStore]: slots of struct ib_uverbs_wc.
//
// The program is hostile: it may write any byte of the buffer at any time. Therefore:
//
//   - The geometry is private. The header is written once and never read back, except the one
//     index that the program owns: the producer index of a SendRing or RecvRing, the consumer index
//     of a CompletionRing. That index is loaded once, masked, and limited to what the ring can hold
//     beyond the slots in use.
//   - A slot is copied to private memory before any field of it is examined.
//   - A request that is not valid completes in error in its turn. It neither stops the ring nor
//     shifts the slots behind it.
//   - A buffer that is no longer backed by memory, such as a mapped file that the program truncated,
//     ends the ring: see Lost. Methods catch the fault themselves (debug.SetPanicOnFault for the
//     duration of the access), so a machine of package transport never unwinds halfway.
//
// A program can harm its own requests and completions only.
//
// An index is stored after the slot it covers, and loaded before: sync/atomic orders both as the
// release store and the acquire load of librxe require.
//
// The caller provides the buffers and keeps them mapped: a buffer may be unmapped after the last call
// of a method of its ring, and after a resize that has replaced it.
//
// Completions of a queue pair that is destroyed stay in their ring, as with Linux rxe: librxe copies
// a completion without a look at its queue pair.
//
// The package is pure: it has no lock, clock or goroutine and calls no operating system. The methods
// of one ring must not overlap, except Lost and [CompletionRing.Arm].
package rings
