// Package qp implements queue pairs as data structures: states and attributes ([QP], [Attr]),
// send and receive queues ([SendQueue], [RecvQueue], [SRQ]), work requests ([SendWR], [RecvWR])
// and completions ([WC], [CQ]). It does not handle packets: the requester and responder of
// package transport take work from the queues and complete it.
//
// A queue pair takes receives from a [RecvSource] and passes completions to a [CompletionSink]; a
// [CompletionStore] holds them until the program polls. RecvSource, CompletionStore and the
// [SendSource] of a send queue may be rings in memory that another process shares.
//
// Values, names and texts are those of verbs (rdma-core's infiniband/verbs.h), so that programs
// and users see what they know. The states and the attributes that each transition requires are
// a table: see [Requirements].
//
// The package has no lock and starts no goroutine. At any time, only one goroutine may use a
// queue pair with its queues, or a CQ.
//
// Queues grow with use: an unused queue has no slots. A queue that has grown to its depth does
// not allocate any more.
package qp
