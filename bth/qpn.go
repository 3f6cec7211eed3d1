package bth

// QPN is a queue pair number, 24 bits.
type QPN uint32

const (
	// GSI is the queue pair of the general services interface, where the
	// connection manager speaks.
	GSI QPN = 1
	// MulticastQPN is the destination of every multicast packet.
	MulticastQPN QPN = 0xffffff
	// MaxQPN is the largest number a queue pair of its own can have; the one
	// above it is [MulticastQPN].
	MaxQPN QPN = 0xfffffe
)
