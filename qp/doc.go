// Package qp holds queue pairs as objects: their states and attributes, the send and
// receive queues, work requests and work completions. It decides nothing about packets;
// the machines of package transport take work from the queues and complete it.
//
// Values, names and texts are those of verbs (rdma-core's infiniband/verbs.h), so that
// what a program or a person sees here is what they know. The states and what each
// transition needs are data: see [Requirements].
//
// The package is pure: it takes no lock and starts nothing. A queue pair with its queues,
// and a CQ, may be used by one goroutine at a time.
//
// Queues grow with use: one that was never posted to costs its header only. Once grown
// they allocate no more.
package qp
