package qp

import "github.com/gorxe/gorxe/mr"

// A RecvSource provides the receives of a queue pair: its own queue ([RecvQueue]), a shared one
// ([SRQ]), or a ring that another process fills. The transport calls it under the lock of the
// queue pair and does not depend on the kind. Calls must not block.
type RecvSource interface {
	// Take moves the next receive to dst, reusing dst.SG. It returns false if there is none.
	// dst is a copy that no other process can change.
	Take(dst *RecvWQE) bool
	// PD returns the protection domain of the receives' memory (for an SRQ: IBA 10.2.9).
	PD() *mr.PD
	// Shared reports whether other queue pairs take receives from the source too. Flushing or
	// resetting one queue pair leaves the receives in a shared source.
	Shared() bool
	// Len returns the number of queued receives.
	Len() int
	// Depth returns the capacity in receives.
	Depth() int
	// Reset removes all receives and generates no completions, as the RESET state requires.
	Reset()
}
