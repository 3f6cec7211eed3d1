package bth

// QPN is a queue pair number, 24 bits.
type QPN uint32

const (
	// GSI is the queue pair of the general services interface, which the communication manager
	// uses.
	GSI QPN = 1
	// MulticastQPN is the destination queue pair of every multicast packet.
	MulticastQPN QPN = 0xffffff
	// MaxQPN is the largest number of an ordinary queue pair; the next one is [MulticastQPN].
	MaxQPN QPN = 0xfffffe
)
