// Package rings implements the queue rings that gorxe shares with programs of other processes:
// libibverbs with its rxe provider (librxe) posts work requests to them and polls completions
// from them. The layout is that of Linux (include/uapi/rdma/rdma_user_rxe.h): struct
// rxe_queue_buf with a producer and a consumer index, followed by slots of 2^log2_elem_size
// bytes.
//
//   - [SendRing] is the [qp.SendSource] of a queue pair: slots of struct rxe_send_wqe.
//   - [RecvRing] is the [qp.RecvSource] of a queue pair, or a shared receive queue: slots of
//     struct rxe_recv_wqe.
//   - [CompletionRing] is a [qp.CompletionStore]: slots of struct ib_uverbs_wc.
//
// The program is untrusted: it may write any byte of the buffer at any time. Therefore:
//
//   - The geometry is private. The header is written once and never read back, except the index
//     that the program owns: the producer index of a SendRing or RecvRing, the consumer index of
//     a CompletionRing. This index is loaded once, masked, and limited to what the ring can hold
//     beyond the slots in use.
//   - A slot is copied to private memory before any field is examined.
//   - An invalid request completes in error when its turn comes. It neither stops the ring nor
//     shifts the slots after it.
//   - If the buffer is no longer backed by memory, for example because the program truncated a
//     mapped file, the ring is lost: see Lost. Methods recover from the fault themselves
//     (debug.SetPanicOnFault during the access), so that it never unwinds package transport.
//
// A program can corrupt only its own requests and completions.
//
// An index is stored after the slots that it covers, and loaded before them: sync/atomic
// provides the release store and the acquire load that librxe expects.
//
// The caller provides the buffers and keeps them mapped. It may unmap a buffer after the last
// call of a method of its ring, or after a resize has replaced the buffer.
//
// Completions of a destroyed queue pair stay in the ring, as with Linux rxe: librxe copies a
// completion without checking its queue pair.
//
// The package has no lock, clock or goroutine and makes no system calls. The methods of one
// ring must not overlap, except Lost and [CompletionRing.Arm].
package rings
