package qp

import "github.com/gorxe/gorxe/mr"

// A RecvSource is where a queue pair takes its receives from: its own queue ([RecvQueue]), a
// shared one ([SRQ]), or a ring that another process fills. The transport calls it under the
// lock of the queue pair and never learns which of them it is. Calls must not block.
type RecvSource interface {
	// Take moves the next receive to dst, whose SG is reused, and returns false if there is none.
	// What dst has then is a copy: nobody else can change it.
	Take(dst *RecvWQE) bool
	// PD returns the protection domain of the memory that receives name (IBA 10.2.9 for an SRQ).
	PD() *mr.PD
	// Shared reports whether other queue pairs take receives from the source too. Flushing one
	// queue pair leaves what is in a shared source, and so does its RESET.
	Shared() bool
	// Len returns the number of receives that are queued.
	Len() int
	// Depth returns the number of receives that the source was made for.
	Depth() int
	// Reset removes all receives without a completion, as the state RESET demands.
	Reset()
}
